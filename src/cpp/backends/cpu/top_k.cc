// TopK on the CPU: a selection that is sorted, one line after the other and on one thread. It picks beams
// and candidates from a few thousand scores; k is small.
#include "kernels/sort/top_k.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // Booleans are no numbers to visit_numeric(), but ordered.
  return node.dtype(0) == DType::boolean || tensor::visit_numeric(node.dtype(0), [](auto) {});
}

kernels::TopK spec_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  const int64_t given = node.attrs().get_int("axis", -1);
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);  // checked by the shape rule
  return {.outer = x.product(0, axis),
          .axis = x[axis],
          .inner = x.product(axis + 1, x.rank()),
          .k = node.out_shape(0)[axis],
          .largest = node.attrs().get_int("largest", 1) != 0};
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = reference_candidate(node, "sort_top_k_reference", threads);
  c.workspace_bytes = kernels::top_k_scratch_bytes(spec_of(node), node.dtype(0));
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  // Either result may be left out: the unwanted one is not written.
  const bool indices = node.has_output(1);
  const bool values = node.has_output(0);
  return make_kernel([=, spec = spec_of(node), dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_top_k(spec, dtype, a.input<void>(0), values ? a.output<void>(0) : nullptr,
                       indices ? a.output<int64_t>(1) : nullptr, a.workspace);
    return {};
  });
}
}  // namespace

extern const CpuOp kTopKCpu{.op = "TopK", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
