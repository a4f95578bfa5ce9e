// Reductions on the CPU, over any set of axes: a plan brings them to rows that lie together or columns that
// are walked side by side (kernels/reduce/reduce.h).
#include "kernels/reduce/reduce.h"
#include "backends/cpu/cpu_op.h"
#include "ops/rules/axis.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  const auto kind = tensor::reduce_kind(node.op().name);
  // Axes are an input since opset 18. Computed ones are known when the node is planned again,
  // then as a constant.
  return kind && kernels::reduce_supports(*kind, node.dtype(0)) && (!node.has(1) || node.constant(1));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "reduce_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  std::vector<int64_t> given;
  if (node.has(1)) {
    WALLE_ASSIGN(given, node.constant(1)->to_i64());
  }
  const bool noop = node.attrs().get_int("noop_with_empty_axes", 0) != 0;
  WALLE_ASSIGN(const std::vector<int> axes, ops::reduce_axes(given, node.shape(0).rank(), noop));
  const kernels::ReducePlan plan = kernels::make_reduce_plan(node.shape(0), axes);
  return make_kernel([plan, kind = *tensor::reduce_kind(node.op().name),
                      dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_reduce(kind, dtype, plan, a.input<void>(0), a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kReduceCpu{
    .op = "Reduce", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
