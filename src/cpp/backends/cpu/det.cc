// Det on the CPU, by elimination with pivots on a copy of the matrix.
#include "backends/cpu/cpu_op.h"
#include "kernels/norm/determinant.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = reference_candidate(node, "norm_determinant_reference", threads);
  const int64_t n = node.shape(0).back();
  // float64 whatever the dtype: elimination loses digits with every row, and a matrix is small.
  c.workspace_bytes = n * n * static_cast<int64_t>(sizeof(double));
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_kernel([dtype = node.dtype(0), batch = node.out_shape(0).elements(),
                      n = node.shape(0).back()](const HostArgs& a) -> Status {
    kernels::run_determinant(dtype, batch, n, a.input<void>(0), a.output<void>(0),
                             reinterpret_cast<double*>(a.workspace));
    return {};
  });
}
}  // namespace

extern const CpuOp kDetCpu{.op = "Det", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
