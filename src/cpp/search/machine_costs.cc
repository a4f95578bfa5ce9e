#include "search/machine_costs.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>

#include "backends/host_memory.h"
#include "base/bytes.h"
#include "base/machine.h"
#include "search/transfers.h"

namespace walle::search {

namespace {
using backends::DeviceProfile;

constexpr std::string_view kProfileMagic = "WALLEPRF";
// 1 copied with memcpy, which is no measure of caches (base/copy.h); 2 knew no devices beside the host; 3
// took products of bfloat16 for twice as fast as float32's everywhere.
constexpr uint16_t kProfileVersion = 4;
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

constexpr std::string_view kProfile = "profile";

// By WALLE_COSTS, or of the given machine; empty: as the real one's.
Result<std::string> given_costs() {
  WALLE_ASSIGN(const base::Machine* machine, base::given_machine());
  const char* variable = std::getenv("WALLE_COSTS");
  const bool by_variable = variable && *variable;
  const std::string name = by_variable ? variable : machine ? machine->costs : "";
  if (name.empty() || (by_variable && name == kProfile)) return name;
  const std::vector<std::string_view> known = cost_names();
  if (std::ranges::find(known, name) != known.end()) return name;
  std::string names;
  for (const std::string_view n : known) names += (names.empty() ? "" : ", ") + std::string(n);
  if (by_variable)
    return argument_error({"'", name, "'"}, {"profile, or one of ", names},
                          "environment variable WALLE_COSTS", "leave it out for the costs of this machine");
  return argument_error({"costs=", name}, {"one of ", names}, "environment variable WALLE_MACHINE",
                        "leave costs= out for those of the real machine");
}

// What a profile holds for: the device, and what of it the session may use.
std::string machine_of(const backends::Backend& host) { return host.device() + "|" + host.target(); }

// Nothing else of a file is a number of nanoseconds.
double positive(base::ByteReader& in) {
  using Limits = std::numeric_limits<double>;
  return in.checked(Limits::denorm_min(), Limits::max());
}
}  // namespace

std::string encode_profile(std::string_view machine, const DeviceProfile& profile) {
  base::ByteWriter out;
  out.put_bytes(kProfileMagic);
  out.put(kProfileVersion);
  out.put_text(machine);
  out.put_text(profile.isa);
  for (const auto figure : kFigures) out.put(profile.*figure);
  out.put(profile.bf16_flop);
  out.put(profile.launch);
  out.put(static_cast<uint32_t>(profile.ways.size()));
  for (const backends::Way& way : profile.ways) {
    out.put_text(way.memory);
    for (const double figure : {way.in.start, way.in.byte, way.out.start, way.out.byte}) out.put(figure);
  }
  out.put_checksum();
  return out.take();
}

std::optional<DeviceProfile> decode_profile(std::string_view machine, std::string_view bytes) {
  base::ByteReader in(bytes);
  if (!in.expect(kProfileMagic) || in.get<uint16_t>() != kProfileVersion || in.text() != machine)
    return std::nullopt;
  DeviceProfile out;
  out.isa = in.text();
  for (const auto figure : kFigures) out.*figure = positive(in);
  for (const auto figure : {&DeviceProfile::bf16_flop, &DeviceProfile::launch})
    out.*figure = in.checked(0.0, std::numeric_limits<double>::max());
  const auto ways = in.checked<uint32_t>(0, kMaxMemories);
  for (uint32_t i = 0; i < ways; ++i) {
    backends::Way& way = out.ways.emplace_back();
    way.memory = in.text();
    way.in.start = positive(in);
    way.in.byte = positive(in);
    way.out.start = positive(in);
    way.out.byte = positive(in);
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

const CostTable* modelled_table(std::string_view target) {
  const std::string_view isa = target.substr(0, target.find(' '));
  const auto found = std::ranges::find_if(cost_tables(), [&](const CostTable& t) {
    return t.devices.empty() && std::ranges::find(t.profiles, isa, &DeviceProfile::isa) != t.profiles.end();
  });
  return found == cost_tables().end() ? nullptr : &*found;
}

std::optional<DeviceProfile> kept_profile(const backends::Backend& backend, base::Env& env,
                                          const std::string& folder) {
  const std::string machine = machine_of(backend);
  const bool host = &backend.memory() == &backends::host_memory();
  const std::string path = folder + "/" + (host ? "machine" : std::string(backend.name())) + ".profile";
  if (!folder.empty() && env.file_size(path) > 0 && env.file_size(path) <= kMostBytes)
    if (const Result<std::string> bytes = env.read_file(path); bytes.ok())
      if (std::optional<DeviceProfile> kept = decode_profile(machine, *bytes)) return *kept;
  std::optional<DeviceProfile> measured = backend.profile();
  if (measured && !folder.empty() && env.make_dirs(folder).ok())
    (void)env.replace_file(path, encode_profile(machine, *measured));  // measured again by the next process
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

namespace {
// What a process knows of its machine.
class Known {
 public:
  Result<std::shared_ptr<const CostModel>> costs(const backends::Backend& host,
                                                 const std::vector<const backends::Backend*>& devices,
                                                 base::Env& env, const std::string& folder) {
    WALLE_ASSIGN(const std::string name, given_costs());
    const bool profiled = name == kProfile;
    const std::lock_guard lock(mutex_);
    std::string key = machine_of(host) + "|" + name;
    DeviceProfiles measured;
    for (const backends::Backend* b : devices) {
      if (&b->memory() == &backends::host_memory()) continue;
      const std::optional<DeviceProfile>& profile = profile_of(*b, env, folder);
      if (!profile) continue;  // as the layouts of the host's memory
      key.append("|").append(b->name()).append(" ").append(machine_of(*b));
      measured.emplace_back(b->name(), *profile);
    }
    std::shared_ptr<const CostModel>& model = models_[key];
    if (model) return model;
    const CostTable* modelled = modelled_table(host.target());
    const CostTable& first = modelled ? *modelled : cost_tables().front();
    const CostTable* table = name.empty() ? table_for(host.device()) : table_named(name);
    if (name.empty() && !table) table = modelled;
    const std::string isa = host.target().substr(0, host.target().find(' '));
    const std::optional<DeviceProfile> scaled = profiled ? std::nullopt : scaled_profile(name, isa);
    if (scaled) {
      model = std::make_shared<CostModel>(first, *scaled, name, std::move(measured));
    } else if (!profiled && table && fitted_for(*table, host)) {
      model = std::make_shared<CostModel>(*table, std::move(measured));
    } else {
      const DeviceProfile profile = profile_of(host, env, folder).value_or(first.profiles.front());
      model = std::make_shared<CostModel>(first, profile, "a profile", std::move(measured));
    }
    return model;
  }

 private:
  const std::optional<DeviceProfile>& profile_of(const backends::Backend& backend, base::Env& env,
                                                 const std::string& folder) {
    // By folder, too: one that another session names has no file yet, and later processes look there.
    const auto [found, fresh] =
        profiles_.try_emplace(std::string(backend.name()) + "|" + machine_of(backend) + "|" + folder);
    if (fresh) found->second = kept_profile(backend, env, folder);
    return found->second;
  }

  std::mutex mutex_;
  std::map<std::string, std::optional<DeviceProfile>> profiles_;
  std::map<std::string, std::shared_ptr<const CostModel>> models_;
};
}  // namespace

Result<std::shared_ptr<const CostModel>> machine_costs(const backends::Backend& host,
                                                       const std::vector<const backends::Backend*>& devices,
                                                       base::Env& env, const std::string& folder) {
  static auto& known = *new Known;  // outlives all sessions
  return known.costs(host, devices, env, folder);
}

}  // namespace walle::search
