#include "backends/cpu/cpu_backend.h"

#include <unordered_map>

#include "backends/cpu/blocked/blocked_backend.h"
#include "backends/cpu/cpu_op.h"
#include "backends/cpu/profile.h"

namespace walle::backends::cpu {

#define WALLE_CPU_OP(name) extern const CpuOp k##name##Cpu;
#include "backends/cpu/cpu_ops.inc"
#undef WALLE_CPU_OP

namespace {
// By name, then by family: a family's kinds share a kernel, and an operator may still have one of its
// own. A table made when first asked for, because the order in which constants of other files are
// initialised is not known.
const CpuOp* find(const ir::OpDef& op) {
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

class CpuBackend final : public Backend {
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
    return (chosen.ok() ? std::string(isa_name(*chosen))
                        : "nothing: WALLE_CPU names no set of this machine") +
           " (of " + sets + ")";
  }

  std::string device() const override { return processor_name(); }
  std::vector<const Backend*> layouts() const override { return {&blocked_backend()}; }
  std::optional<DeviceProfile> profile() const override { return measure_profile(); }

  bool supports(const NodeView& node) const override {
    const CpuOp* op = find(node.op());
    return op && op->supports(node);
  }

  std::vector<Candidate> candidates(const NodeView& node, int threads) const override {
    std::vector<Candidate> out;
    if (const CpuOp* op = find(node.op())) op->candidates(node, threads, out);
    return out;
  }

  Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                          PrepareContext& context) const override {
    const CpuOp* op = find(node.op());
    if (!op)
      return backend_error("operator " + std::string(node.op().name), "an operator the CPU backend lists",
                           "cpu", "use another backend");
    return op->prepare(node, candidate, context);
  }
};
}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend instance;  // immutable: one serves every session
  return instance;
}

}  // namespace walle::backends::cpu
