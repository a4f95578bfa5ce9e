// GridSample on the CPU: every point of the result is looked up on its own, in any number of spatial axes.
#include "kernels/sample/grid_sample.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // One type for data and grid spares a kernel per pair; ONNX's models have both in float32.
  return (node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64) &&
         node.dtype(1) == node.dtype(0);
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "grid_sample_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  const Shape& out = node.out_shape(0);
  const std::string mode = node.attrs().get_string("mode", "linear");
  const std::string padding = node.attrs().get_string("padding_mode", "zeros");
  kernels::GridSample s;
  s.axes = x.rank() - 2;
  for (int i = 0; i < s.axes; ++i) s.size[i] = x[i + 2];  // behind batch and channels
  s.batch = x[0];
  s.channels = x[1];
  s.points = out.product(2, out.rank());
  // The shape rule has refused unknown names; those of opset 16 ("bilinear") name the same.
  s.mode = tensor::sample_mode(mode).value_or(SampleMode::linear);
  s.padding = tensor::sample_padding(padding).value_or(SamplePadding::zeros);
  s.align_corners = node.attrs().get_int("align_corners", 0) != 0;
  return make_kernel([s, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_grid_sample(s, dtype, a.input<void>(0), a.input<void>(1), a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kGridSampleCpu{
    .op = "GridSample", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
