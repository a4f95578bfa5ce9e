// DeformColumns (what DeformConv lowers to) on the CPU: it gathers what each place of the kernel sees,
// and an ordinary MatMul follows. The gathering reads single elements at places that come from data,
// which vectors cannot.
#include "kernels/sample/deform_columns.h"
#include "backends/cpu/cpu_op.h"
#include "ops/rules/window.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "deform_columns_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  kernels::DeformColumns s;
  s.batch = x[0];
  s.channels = x[1];
  s.height = x[2];
  s.width = x[3];
  s.groups = node.attrs().get_int("offset_group", 1);
  WALLE_ASSIGN(const ops::Window w, ops::resolve_window(node.attrs(), x));
  for (int i = 0; i < 2; ++i) {  // height and width: the shape rule takes no other rank
    s.kernel[i] = w.kernel[i];
    s.stride[i] = w.stride[i];
    s.dilation[i] = w.dilation[i];
    s.pad[i] = w.pad_begin[i];
    s.out[i] = w.out[i];
  }
  return make_kernel([s, dtype = node.dtype(0), masked = node.has(2)](const HostArgs& a) -> Status {
    kernels::run_deform_columns(s, dtype, a.input<void>(0), a.input<void>(1),
                                masked ? a.input<void>(2) : nullptr, a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kDeformColumnsCpu{
    .op = "DeformColumns", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
