// Interpolate (what Resize lowers to) on the CPU: along one axis, each result is a weighted sum of the
// inputs that a table names. The table is made while planning, so that one kernel serves every mode,
// scale and alignment.
#include "kernels/resize/interpolate.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // Without weights it only copies ("nearest"), which any dtype can.
  return !node.has(2) || node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "interpolate_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", 0), x.rank()));
  const kernels::Interpolate spec{.outer = x.product(0, axis),
                                  .in = x[axis],
                                  .out = node.shape(1)[0],
                                  .inner = x.product(axis + 1, x.rank()),
                                  .taps = node.shape(1)[1]};
  return make_kernel([spec, dtype = node.dtype(0), weighted = node.has(2)](const HostArgs& a) -> Status {
    // The table is an operand like any other, which a hostile file may have written itself.
    WALLE_TRY(kernels::check_indices(spec, a.input<int32_t>(1)));
    kernels::run_interpolate(spec, dtype, a.input<void>(0), a.input<int32_t>(1),
                             weighted ? a.input<void>(2) : nullptr, a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kInterpolateCpu{
    .op = "Interpolate", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
