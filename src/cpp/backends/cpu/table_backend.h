// A backend whose operators are rows of a table: CpuOp says what each can do, the backend only finds it.
// Immutable: one serves every session, from any thread.
#pragma once

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

class TableBackend : public Backend {
 public:
  bool supports(const NodeView& node) const override {
    const CpuOp* op = find(node.op());
    return op && op->supports(node);
  }

  std::vector<Candidate> candidates(const NodeView& node, int threads) const override {
    std::vector<Candidate> out;
    if (const CpuOp* op = find(node.op())) op->candidates(node, threads, out);
    // Whoever computes the node computes what was folded into it, and counts its own work alone.
    const double folded = folded_flops(node);
    for (Candidate& c : out) c.features[Quantity::flop] += folded;
    return out;
  }

  Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                          PrepareContext& context) const override {
    if (const CpuOp* op = find(node.op())) return op->prepare(node, candidate, context);
    return backend_error({"operator ", node.op().name}, "an operator the backend lists", name(),
                         "use another backend");
  }

 private:
  // Null: no row. By name, then by family: a family's kinds share a kernel, and an operator may still have
  // one of its own.
  virtual const CpuOp* find(const ir::OpDef& op) const = 0;
};

}  // namespace walle::backends::cpu
