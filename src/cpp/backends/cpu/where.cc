// Where on the CPU: a selection of bits, for every dtype.
#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/select.h"
#include "kernels/parallel.h"

namespace walle::backends::cpu {

namespace {
// The condition's dtype alone: the bits that are chosen have no type here.
bool supports(const NodeView& node) { return node.dtype(0) == DType::boolean; }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "eltwise_select_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape operands[] = {node.shape(0), node.shape(1), node.shape(2)};
  const kernels::Broadcast plan = kernels::make_broadcast(node.out_shape(0), operands);
  return make_kernel([plan, size = dtype_size(node.out_dtype(0))](const HostArgs& a) -> Status {
    kernels::parallel_ranges(plan.elements, kernels::kScalarGrain, a.threads,
                             [&](int64_t begin, int64_t end) {
                               kernels::run_select(plan, size, a.input<bool>(0), a.input<void>(1),
                                                   a.input<void>(2), a.output<void>(0), begin, end);
                             });
    return {};
  });
}
}  // namespace

extern const CpuOp kWhereCpu{
    .op = "Where", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
