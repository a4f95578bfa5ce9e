#include "backends/cpu/blocked/blocked_backend.h"

#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/profile.h"

namespace walle::backends::cpu {

namespace {
const CpuOp* find(const ir::OpDef& op) {
  for (const CpuOp* row : {&kBlockedConv, &kBlockedBinary, &kBlockedUnary, &kBlockedMaxPool,
                           &kBlockedAveragePool, &kBlockedReduce, &kBlockedRaster})
    if (op.name == row->op || op.family == row->op) return row;
  return nullptr;
}

class BlockedBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu_blocked"; }
  Memory& memory() const override { return blocked_memory(); }
  Status ready() const override { return kernels::select_isa().status(); }
  std::string target() const override {
    const auto chosen = kernels::select_isa();
    return chosen.ok() ? std::string(isa_name(*chosen)) + ", blocked by 16 channels" : "";
  }
  std::string device() const override { return processor_name(); }

  bool supports(const NodeView& node) const override {
    const CpuOp* op = find(node.op());
    return op && node.has(0) && float_isa(node) && op->supports(node);
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
      return backend_error("operator " + std::string(node.op().name), "an operator with a blocked kernel",
                           "cpu_blocked", "use another backend");
    return op->prepare(node, candidate, context);
  }
};
}  // namespace

const Backend& blocked_backend() {
  static const BlockedBackend instance;  // immutable: one serves every session
  return instance;
}

}  // namespace walle::backends::cpu
