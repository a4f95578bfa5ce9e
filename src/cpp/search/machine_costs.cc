#include "search/machine_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/bytes.h"
#include "base/machine.h"

namespace walle::search {

namespace {
using backends::DeviceProfile;

constexpr std::string_view kProfileMagic = "WALLEPRF";
constexpr uint16_t kProfileVersion = 2;  // 1 copied with memcpy, which is no measure of caches (base/copy.h)
constexpr int64_t kMostBytes = 4096;
constexpr double DeviceProfile::* kFigures[] = {&DeviceProfile::flop,    &DeviceProfile::step,
                                                &DeviceProfile::l1_byte, &DeviceProfile::l2_byte,
                                                &DeviceProfile::l3_byte, &DeviceProfile::memory_byte};

// Whether it has rows for the instruction set in use; WALLE_CPU may name one that was not measured.
bool fitted_for(const CostTable& table, const backends::Backend& host) {
  return std::ranges::any_of(table.profiles,
                             [&](const DeviceProfile& p) { return host.target().starts_with(p.isa + " "); });
}

constexpr std::string_view kNone = "none";

struct ScaledRow {
  std::string_view name, isa;
  std::array<double, 6> ns;
};
constexpr ScaledRow kScaled[] = {
#define WALLE_SCALED_COSTS(name, isa, ...) {name, isa, {__VA_ARGS__}},
#include "search/tables/scaled.inc"
#undef WALLE_SCALED_COSTS
};

// Of the given machine; empty: as the real one's.
Result<std::string> given_costs() {
  WALLE_ASSIGN(const base::Machine* machine, base::given_machine());
  if (!machine || machine->costs.empty()) return std::string();
  const std::vector<std::string_view> known = cost_names();
  if (std::ranges::find(known, machine->costs) != known.end()) return machine->costs;
  std::string names;
  for (const std::string_view n : known) names += (names.empty() ? "" : ", ") + std::string(n);
  return argument_error("costs=" + machine->costs, "one of " + names, "environment variable WALLE_MACHINE",
                        "leave costs= out for those of the real machine");
}

// What a profile holds for: the device, and what of it the session may use.
std::string machine_of(const backends::Backend& host) { return host.device() + "|" + host.target(); }
}  // namespace

std::string encode_profile(std::string_view machine, const DeviceProfile& profile) {
  base::ByteWriter out;
  out.put_bytes(kProfileMagic);
  out.put(kProfileVersion);
  out.put_text(machine);
  out.put_text(profile.isa);
  for (const auto figure : kFigures) out.put(profile.*figure);
  out.put_checksum();
  return out.take();
}

std::optional<DeviceProfile> decode_profile(std::string_view machine, std::string_view bytes) {
  base::ByteReader in(bytes);
  if (!in.expect(kProfileMagic) || in.get<uint16_t>() != kProfileVersion || in.text() != machine)
    return std::nullopt;
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

const CostTable* table_named(std::string_view name) {
  const auto found = std::ranges::find(cost_tables(), name, &CostTable::name);
  return found == cost_tables().end() ? nullptr : &*found;
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

std::vector<std::string_view> cost_names() {
  std::vector<std::string_view> out;
  for (const CostTable& t : cost_tables()) out.push_back(t.name);
  for (const ScaledRow& r : kScaled)
    if (out.back() != r.name) out.push_back(r.name);
  out.push_back(kNone);
  return out;
}

std::optional<DeviceProfile> scaled_profile(std::string_view name, std::string_view isa) {
  const ScaledRow* found = nullptr;
  for (const ScaledRow& r : kScaled)
    if (r.name == name && (!found || r.isa == isa)) found = &r;
  if (!found) return std::nullopt;
  const auto& ns = found->ns;
  // A phone's kernels of another architecture stand for those of as many lanes here.
  return DeviceProfile{std::string(isa), ns[0], ns[1], ns[2], ns[3], ns[4], ns[5]};
}

Result<std::shared_ptr<const CostModel>> machine_costs(const backends::Backend& host, base::Env& env,
                                                       const std::string& folder) {
  static std::mutex mutex;
  static auto& made = *new std::map<std::string, std::shared_ptr<const CostModel>>;  // outlives all sessions
  WALLE_ASSIGN(const std::string name, given_costs());
  const char* variable = std::getenv("WALLE_COSTS");
  const bool profiled = variable && std::string_view(variable) == "profile";
  const std::lock_guard lock(mutex);
  std::shared_ptr<const CostModel>& model = made[machine_of(host) + (profiled ? "|profile" : "")];
  if (model) return model;
  const CostTable* table = name.empty() ? table_for(host.device()) : table_named(name);
  const std::string isa = host.target().substr(0, host.target().find(' '));
  const std::optional<DeviceProfile> scaled = profiled ? std::nullopt : scaled_profile(name, isa);
  if (scaled) {
    model = std::make_shared<CostModel>(cost_tables().front(), *scaled, name);
  } else if (!profiled && table && fitted_for(*table, host)) {
    model = std::make_shared<CostModel>(*table);
  } else {
    model = std::make_shared<CostModel>(cost_tables().front(), kept_profile(host, env, folder));
  }
  return model;
}

}  // namespace walle::search
