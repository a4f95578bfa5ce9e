#include "search/machine_costs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/bytes.h"

namespace walle::search {

namespace {
using backends::DeviceProfile;

constexpr std::string_view kMagic = "WALLEPRF";
constexpr uint16_t kVersion = 2;  // 1 copied with memcpy, which is no measure of caches (base/copy.h)
constexpr int64_t kMostBytes = 4096;
constexpr double DeviceProfile::* kFigures[] = {&DeviceProfile::flop,    &DeviceProfile::step,
                                                &DeviceProfile::l1_byte, &DeviceProfile::l2_byte,
                                                &DeviceProfile::l3_byte, &DeviceProfile::memory_byte};

// Whether it has rows for the instruction set in use; WALLE_CPU may name one that was not measured.
bool fitted_for(const CostTable& table, const backends::Backend& host) {
  return std::ranges::any_of(table.profiles,
                             [&](const DeviceProfile& p) { return host.target().starts_with(p.isa + " "); });
}

// What a profile holds for: the device, and what of it the session may use.
std::string machine_of(const backends::Backend& host) { return host.device() + "|" + host.target(); }
}  // namespace

std::string encode_profile(std::string_view machine, const DeviceProfile& profile) {
  base::ByteWriter out;
  out.put_bytes(kMagic);
  out.put(kVersion);
  out.put_text(machine);
  out.put_text(profile.isa);
  for (const auto figure : kFigures) out.put(profile.*figure);
  out.put_checksum();
  return out.take();
}

std::optional<DeviceProfile> decode_profile(std::string_view machine, std::string_view bytes) {
  base::ByteReader in(bytes);
  if (!in.expect(kMagic) || in.get<uint16_t>() != kVersion || in.text() != machine) return std::nullopt;
  DeviceProfile out;
  out.isa = in.text();
  for (const auto figure : kFigures) {
    out.*figure = in.get<double>();
    if (!std::isfinite(out.*figure) || out.*figure <= 0) in.fail();
  }
  if (!in.checksum() || !in.done()) return std::nullopt;
  return out;
}

const CostTable* table_for(std::string_view device) {
  if (device.empty()) return nullptr;
  for (const CostTable& table : cost_tables())
    for (std::string_view rest = table.devices; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      if (rest.substr(0, end) == device) return &table;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return nullptr;
}

DeviceProfile kept_profile(const backends::Backend& host, base::Env& env, const std::string& folder) {
  const std::string machine = machine_of(host);
  const std::string path = folder + "/machine.profile";
  if (!folder.empty() && env.file_size(path) > 0 && env.file_size(path) <= kMostBytes)
    if (const Result<std::string> bytes = env.read_file(path); bytes.ok())
      if (std::optional<DeviceProfile> kept = decode_profile(machine, *bytes)) return *kept;
  DeviceProfile measured = host.profile().value_or(cost_tables().front().profiles.front());
  if (!folder.empty() && env.make_dirs(folder).ok())
    (void)env.replace_file(path, encode_profile(machine, measured));  // measured again by the next process
  return measured;
}

std::shared_ptr<const CostModel> machine_costs(const backends::Backend& host, base::Env& env,
                                               const std::string& folder) {
  static std::mutex mutex;
  static auto& made = *new std::map<std::string, std::shared_ptr<const CostModel>>;  // outlives all sessions
  const char* variable = std::getenv("WALLE_COSTS");
  const bool profiled = variable && std::string_view(variable) == "profile";
  const std::lock_guard lock(mutex);
  std::shared_ptr<const CostModel>& model = made[machine_of(host) + (profiled ? "|profile" : "")];
  if (model) return model;
  const CostTable* table = table_for(host.device());
  if (!profiled && table && fitted_for(*table, host)) {
    model = std::make_shared<CostModel>(*table);
  } else {
    model = std::make_shared<CostModel>(cost_tables().front(), kept_profile(host, env, folder));
  }
  return model;
}

}  // namespace walle::search
