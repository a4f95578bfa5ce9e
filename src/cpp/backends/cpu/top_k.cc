// TopK on the CPU.
#include "kernels/sort/top_k.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.dtype(0) == DType::boolean || tensor::visit_numeric(node.dtype(0), [](auto) {});
}

kernels::TopK spec_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  const int64_t given = node.attrs().get_int("axis", -1);
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);  // checked by the shape rule
  return {x.product(0, axis), x[axis], x.product(axis + 1, x.rank()), node.out_shape(0)[axis],
          node.attrs().get_int("largest", 1) != 0};
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = single_candidate(node, "sort_top_k_reference", threads);
  c.workspace_bytes = spec_of(node).axis * static_cast<int64_t>(sizeof(int64_t));
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const bool indices = node.has_output(1);
  const bool values = node.has_output(0);
  return make_kernel([=, spec = spec_of(node), dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_top_k(spec, dtype, a.input<void>(0), values ? a.output<void>(0) : nullptr,
                       indices ? a.output<int64_t>(1) : nullptr, reinterpret_cast<int64_t*>(a.workspace));
    return {};
  });
}
}  // namespace

extern const CpuOp kTopKCpu{"TopK", supports, candidates, prepare};

}  // namespace walle::backends::cpu
