// CumSum and CumProd on the CPU. Along the axis every sum waits for the one before it, so it is a scalar
// pass; the other axes are walked around it.
#include "backends/cpu/cpu_op.h"
#include "kernels/reduce/reduce.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // The axis is an input. Where it is computed the node is planned again once it is known,
  // then as a constant.
  return node.constant(1) && tensor::visit_numeric(node.dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "reduce_cum_sum_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  WALLE_ASSIGN(const std::vector<int64_t> given, node.constant(1)->to_i64());
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(given[0], x.rank()));
  const kernels::CumSum spec{.outer = x.product(0, axis),
                             .axis = x[axis],
                             .inner = x.product(axis + 1, x.rank()),
                             .exclusive = node.attrs().get_int("exclusive", 0) != 0,
                             .reverse = node.attrs().get_int("reverse", 0) != 0,
                             .product = node.op().name == "CumProd"};
  return make_kernel([spec, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_cum_sum(spec, dtype, a.input<void>(0), a.output<void>(0));
    return {};
  });
}
}  // namespace

extern const CpuOp kCumSumCpu{
    .op = "CumSum", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
