#include "backends/cpu/cpu_backend.h"

#include <unordered_map>

#include "backends/cpu/blocked/bf16_backend.h"
#include "backends/cpu/blocked/blocked_backend.h"
#include "backends/cpu/profile.h"
#include "backends/cpu/table_backend.h"
#include "base/cpu_features.h"
#include "base/machine.h"

namespace walle::backends::cpu {

#define WALLE_CPU_OP(name) extern const CpuOp k##name##Cpu;
#include "backends/cpu/cpu_ops.inc"
#undef WALLE_CPU_OP

namespace {
// What WALLE_CPU leaves: plans and profiles that are kept stand on what is beside the set, too.
std::string narrowed() {
  const auto usable = kernels::usable_capabilities();
  if (!usable.ok() || *usable == base::cpu_features().has) return "";
  return ", used: " + base::capabilities_text(*usable);
}

class CpuBackend final : public TableBackend {
 public:
  std::string_view name() const override { return "cpu"; }
  Memory& memory() const override { return host_memory(); }

  // WALLE_CPU may name an instruction set that this machine lacks: told when a session is
  // made, not by a crash.
  Status ready() const override { return kernels::select_isa().status(); }

  std::string target() const override {
    const auto chosen = kernels::select_isa();
    std::string sets;
    for (const kernels::Isa isa : kernels::supported_isas())
      sets += (sets.empty() ? "" : ", ") + std::string(isa_name(isa));
    const std::string given = base::given_machine_text();
    return (chosen.ok() ? std::string(isa_name(*chosen)) : "nothing: " + chosen.error().text().given) +
           (given.empty() ? "" : " as " + given) + " (of " + sets + ")" + narrowed();
  }

  std::string device() const override { return processor_name(); }
  std::vector<const Backend*> layouts() const override {
    return {&blocked_backend(), &rows_to_blocks_backend(), &bf16_blocks_backend(), &rows_to_bf16_backend(),
            &bf16_to_blocks_backend()};
  }
  std::optional<DeviceProfile> profile() const override { return measure_profile(); }

 private:
  // A table made when first asked for, because the order in which constants of other files are initialised is
  // not known.
  const CpuOp* find(const ir::OpDef& op) const override {
    static const std::unordered_map<std::string_view, const CpuOp*> table = [] {
      std::unordered_map<std::string_view, const CpuOp*> t;
#define WALLE_CPU_OP(name) t.emplace(k##name##Cpu.op, &k##name##Cpu);
#include "backends/cpu/cpu_ops.inc"
#undef WALLE_CPU_OP
      return t;
    }();
    if (const auto it = table.find(op.name); it != table.end()) return it->second;
    if (const auto it = table.find(op.family); it != table.end() && !op.family.empty()) return it->second;
    return nullptr;
  }
};
}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend instance;  // immutable: one serves every session
  return instance;
}

}  // namespace walle::backends::cpu
