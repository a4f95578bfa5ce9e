#include "base/core_kinds.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"

namespace walle::base {

namespace {
constexpr std::string_view kProcessors = "/sys/devices/system/cpu/";
// No file that is read here is longer than a list of processors.
constexpr size_t kMostText = 4096;
constexpr int kMostCaches = 8;  // of one core: two of the first level and one of each other make four
constexpr int kArm = 0x41;      // the implementer in MIDR_EL1
// A core that is less than a tenth slower is of the same kind: makers let single ones run a little faster.
// Kinds of one phone are 15 % apart and more.
constexpr int64_t kAlike = 10;

struct ArmCore {
  int part;
  std::string_view name;
  int64_t l1_kb, l2_kb;
};
constexpr ArmCore kArmCores[] = {
#define WALLE_ARM_CORE(...) {__VA_ARGS__},
#include "base/arm_cores.inc"
};

struct Core {
  int cpu;
  int64_t speed;
};

class Sysfs {
 public:
  explicit Sysfs(Env& env) : env_(env) {}

  // Without the newline; empty where there is no such file.
  std::string text(const std::string& name) const {
    const Result<std::string> read = env_.read_prefix(std::string(kProcessors) + name, kMostText);
    if (!read.ok()) return "";
    return read->substr(0, read->find('\n'));
  }

  // -1 where there is no such file, or no number in it. A unit behind the number is left.
  int64_t number(const std::string& name, int base = 10) const {
    std::string digits = text(name);
    if (base == 16 && digits.starts_with("0x")) digits.erase(0, 2);
    int64_t value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return value;
  }

 private:
  Env& env_;
};

// "0-3,8" as numbers; as many as a machine may have.
std::vector<int> processors_of(std::string_view list) {
  std::vector<int> out;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0;
    const auto [behind, error] = std::from_chars(at, end, first);
    if (error != std::errc()) break;
    int last = first;
    at = behind;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (int cpu = std::max(first, 0); cpu <= last && std::ssize(out) < kMaxThreads; ++cpu)
      out.push_back(cpu);
    if (at < end && *at++ != ',') break;
  }
  return out;
}

void read_caches(const Sysfs& sysfs, int cpu, CoreKind& kind) {
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string cache = "cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(i) + "/";
    const int64_t level = sysfs.number(cache + "level");
    if (level < 1) break;
    // In KB: that is how the kernel prints every size ("1024K").
    const int64_t bytes = sysfs.number(cache + "size") << 10;
    if (bytes <= 0 || sysfs.text(cache + "type") == "Instruction") continue;
    const auto sharing =
        std::max<int64_t>(std::ssize(processors_of(sysfs.text(cache + "shared_cpu_list"))), 1);
    if (level == 1) kind.l1_bytes = bytes / sharing;
    if (level == 2) kind.l2_bytes = bytes / sharing;
    if (level >= 2 && sharing > 1) kind.outer_bytes = bytes;  // listed from the core outwards
  }
}

// What the system left out, by the number of the core.
void know_core(const Sysfs& sysfs, int cpu, CoreKind& kind) {
  const int64_t midr = sysfs.number("cpu" + std::to_string(cpu) + "/regs/identification/midr_el1", 16);
  if (midr < 0 || (midr >> 24 & 0xff) != kArm) return;
  const auto* core = std::ranges::find(kArmCores, static_cast<int>(midr >> 4 & 0xfff), &ArmCore::part);
  if (core == std::end(kArmCores)) return;
  kind.name = core->name;
  if (kind.l1_bytes == 0) kind.l1_bytes = core->l1_kb << 10;
  if (kind.l2_bytes == 0) kind.l2_bytes = core->l2_kb << 10;
}
}  // namespace

std::vector<CoreKind> core_kinds(Env& env) {
  const Sysfs sysfs(env);
  const std::vector<int> processors = processors_of(sysfs.text("present"));
  // One measure for all: a capacity is no frequency.
  std::string_view measure;
  for (const std::string_view name : {"/cpu_capacity", "/cpufreq/cpuinfo_max_freq"})
    if (measure.empty() && !processors.empty() &&
        sysfs.number("cpu" + std::to_string(processors[0]) + std::string(name)) > 0)
      measure = name;
  std::vector<Core> cores;
  for (const int cpu : processors) {
    const int64_t speed =
        measure.empty() ? 0 : sysfs.number("cpu" + std::to_string(cpu) + std::string(measure));
    if (speed >= 0) cores.push_back({cpu, speed});  // else it is switched off
  }
  std::ranges::stable_sort(cores, std::ranges::greater(), &Core::speed);
  std::vector<CoreKind> kinds;
  for (const Core& core : cores) {
    if (!kinds.empty() && core.speed >= kinds.back().speed - kinds.back().speed / kAlike) {
      ++kinds.back().count;
      continue;
    }
    CoreKind& kind = kinds.emplace_back(CoreKind{.count = 1, .speed = core.speed});
    // Caches of one core each: a server has hundreds.
    read_caches(sysfs, core.cpu, kind);
    know_core(sysfs, core.cpu, kind);
  }
  return kinds;
}

}  // namespace walle::base
