#include "base/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/detected_cpu.h"
#include "base/limits.h"
#include "base/thread_pool.h"

namespace walle::base {

struct MachineScope::Given {
  Machine machine;
  CpuFeatures features;
};

namespace {
constexpr std::string_view kVariable = "WALLE_MACHINE";
// No cache of a core is smaller or larger; and a mistaken suffix, "48" or "48G", is an error.
constexpr int64_t kLeastCache = 4 << 10;
constexpr int64_t kMostCache = int64_t{1} << 30;

CpuFeatures features_of(const Machine& m) {
  CpuFeatures f = detected_cpu_features();
  f.has = standing_for(capabilities_from(m.isa).value_or(Capabilities()), f.has);
  f.l1_bytes = m.l1_bytes;
  f.l2_bytes = m.l2_bytes;
  f.outer_bytes = std::min(outer_share(m.l2_bytes), std::max(m.l3_bytes, m.l2_bytes));
  return f;
}

Error wrong(Text given, Text expected) {
  return argument_error(given, expected, {"environment variable ", kVariable},
                        "unset it to use the machine as it is");
}

// "48K", "1M" or bytes; -1: no number.
int64_t size_of(std::string_view text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || value < 0 || value > kMostCache || unit.size() > 1) return -1;
  if (unit.empty()) return value;
  return unit == "K" ? value << 10 : unit == "M" && value <= kMostCache >> 20 ? value << 20 : -1;
}

Status set_figure(Machine& m, std::string_view key, std::string_view value) {
  const std::string given = std::string(key) + "=" + std::string(value);
  if (key == "l1" || key == "l2" || key == "l3") {
    const bool none = key == "l3" && value == "none";
    const int64_t bytes = none ? 0 : size_of(value);
    if (!none && (bytes < kLeastCache || bytes > kMostCache))
      return wrong(given, key == "l3" ? "a size as 32M, 4K to 1024M, or none" : "a size as 48K, 4K to 1024M");
    (key == "l1" ? m.l1_bytes : key == "l2" ? m.l2_bytes : m.l3_bytes) = bytes;
  } else if (key == "cores") {
    const int64_t cores = size_of(value);
    if (cores < 1 || cores > kMaxThreads) return wrong(given, {"1 to ", kMaxThreads});
    m.processors = static_cast<int>(cores);
  } else if (key == "isa") {
    // Asked for by its name, a set must be there: a test that believes it has seen AVX-512 has not.
    const Capabilities real = detected_cpu_features().has;
    const std::optional<Capabilities> asked = capabilities_from(value);
    if (!asked || !real.has(*asked))
      return wrong(given, {"a set and what stands beside it, within ", capabilities_text(real)});
    m.isa = value;
  } else if (key == "costs" && !value.empty()) {
    m.costs = value;  // which names there are only search/ knows, and says so when it is asked for costs
  } else {
    return wrong(given, "l1=, l2=, l3=, cores=, isa= or costs=");
  }
  return {};
}

Machine real_machine() {
  const CpuFeatures& real = detected_cpu_features();
  return {.name = "",
          .l1_bytes = real.l1_bytes,
          .l2_bytes = real.l2_bytes,
          .l3_bytes = real.outer_bytes,
          .processors = real_processors(),
          .isa = capabilities_text(real.has),
          .costs = ""};
}

struct FromEnvironment {
  std::optional<MachineScope::Given> given;
  Status status;
};

const FromEnvironment& from_environment() {
  static const FromEnvironment found = [] {
    FromEnvironment out;
    const char* text = std::getenv("WALLE_MACHINE");
    if (!text || !*text) return out;  // set to nothing counts as not set, as for WALLE_CPU
    Result<Machine> machine = machine_from(text);
    if (machine.ok())
      out.given = MachineScope::Given{*machine, features_of(*machine)};
    else
      out.status = machine.take_error();
    return out;
  }();
  return found;
}

std::atomic<const MachineScope::Given*> innermost{nullptr};

const MachineScope::Given* given() {
  if (const MachineScope::Given* scope = innermost.load(std::memory_order_acquire)) return scope;
  const FromEnvironment& variable = from_environment();
  return variable.given ? &*variable.given : nullptr;
}
}  // namespace

std::span<const Machine> machine_profiles() {
  static const std::vector<Machine> profiles = {
#define WALLE_MACHINE(...) {__VA_ARGS__},
#include "base/machines.inc"
#undef WALLE_MACHINE
  };
  return profiles;
}

Result<Machine> machine_from(std::string_view text) {
  Machine out = real_machine();
  std::string_view rest = text;
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      WALLE_TRY(set_figure(out, part.substr(0, equals), part.substr(equals + 1)));
      continue;
    }
    const auto profiles = machine_profiles();
    const auto found = std::ranges::find(profiles, part, &Machine::name);
    if (!first || found == profiles.end()) {
      std::string names;
      for (const Machine& m : profiles) names += m.name + ", ";
      return wrong({kVariable, "=", text}, {names, "or figures as l1=48K,l2=1M,cores=4"});
    }
    out = *found;
  }
  if (out.l2_bytes < out.l1_bytes) return wrong(text, "a second level no smaller than the first");
  out.name = text;
  return out;
}

Result<const Machine*> given_machine() {
  if (const MachineScope::Given* g = given()) return &g->machine;
  if (const Status& status = from_environment().status; !status.ok()) return Error(status.error());
  return nullptr;
}

const CpuFeatures* given_features() {
  const MachineScope::Given* g = given();
  return g ? &g->features : nullptr;
}

std::string given_machine_text() {
  const MachineScope::Given* g = given();
  if (!g) return "";
  const Machine& m = g->machine;
  return "l1=" + std::to_string(m.l1_bytes) + ",l2=" + std::to_string(m.l2_bytes) +
         ",l3=" + std::to_string(m.l3_bytes) + ",cores=" + std::to_string(m.processors) + ",isa=" + m.isa +
         (m.costs.empty() ? "" : ",costs=" + m.costs);
}

MachineScope::MachineScope(const Machine& machine)
    : given_(new Given{machine, features_of(machine)}), before_(innermost.exchange(given_.get())) {}

MachineScope::~MachineScope() { innermost.store(before_, std::memory_order_release); }

}  // namespace walle::base
