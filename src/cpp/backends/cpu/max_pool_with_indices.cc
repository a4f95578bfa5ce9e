// MaxPoolWithIndices on the CPU: a scalar loop. Where each maximum stood is wanted by unpooling networks
// alone; a MaxPool whose indices nobody reads is the other operator, with vector lines (pool.cc).
#include "backends/cpu/cpu_op.h"
#include "kernels/pool/max_pool_indices.h"
#include "ops/rules/pool.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return tensor::visit_numeric(node.dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "max_pool_indices_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  WALLE_ASSIGN(const ops::Window w, ops::pool_window(node.attrs(), x));
  kernels::MaxPoolIndices s;
  s.planes = x[0] * x[1];  // batch and channels: nothing is pooled across them
  s.in.assign(x.begin() + 2, x.end());
  s.out.assign(w.out.begin(), w.out.end());
  s.kernel = w.kernel;
  s.stride = w.stride;
  s.dilation = w.dilation;
  s.pad = w.pad_begin;
  s.column_major = node.attrs().get_int("storage_order", 0) != 0;
  return make_kernel([s, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_max_pool_indices(s, dtype, a.input<void>(0), a.output<void>(0), a.output<int64_t>(1),
                                  a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kMaxPoolWithIndicesCpu{
    .op = "MaxPoolWithIndices", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
