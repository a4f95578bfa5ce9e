// Softmax and LogSoftmax on the CPU.
#include "backends/cpu/cpu_op.h"
#include "kernels/softmax/softmax.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) { return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64; }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "softmax_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  kernels::Softmax spec;
  spec.log = node.op().name == "LogSoftmax";
  if (x.rank() > 0) {
    WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", -1), x.rank()));
    spec.outer = x.product(0, axis);
    spec.axis = x[axis];
    spec.inner = x.product(axis + 1, x.rank());
  }
  return make_kernel([spec, dtype = node.dtype(0)](const RunArgs& a) -> Status {
    kernels::run_softmax(spec, dtype, a.in[0], a.out[0], a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kSoftmaxCpu{"Softmax", supports, candidates, prepare};

}  // namespace walle::backends::cpu
