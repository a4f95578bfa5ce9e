// RoiAlign and MaxRoiPool on the CPU. Every box samples its own part of the image at its own scale, so points
// are looked up one by one; what threads share is the boxes.
#include "kernels/roi/roi.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

void align_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "roi_align_reference", threads));
}

void max_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "max_roi_pool_reference", threads));
}

kernels::Roi common(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& y = node.out_shape(0);
  return {.batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .boxes = y[0],
          .out_height = y[2],
          .out_width = y[3],
          .scale = node.attrs().get_float("spatial_scale", 1.0)};
}

Result<std::unique_ptr<Kernel>> prepare_align(const NodeView& node, const Candidate&, PrepareContext&) {
  kernels::Roi s = common(node);
  // 0 lets the kernel choose as many points as the box has pixels.
  s.sampling_ratio = node.attrs().get_int("sampling_ratio", 0);
  s.half_pixel = node.attrs().get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  s.maximum = node.attrs().get_string("mode", "avg") == "max";
  return make_kernel([s, dtype = node.dtype(0)](const HostArgs& a) {
    return kernels::run_roi_align(s, dtype, a.input<void>(0), a.input<void>(1), a.input<int64_t>(2),
                                  a.output<void>(0), a.threads);
  });
}

Result<std::unique_ptr<Kernel>> prepare_max(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_kernel([s = common(node), dtype = node.dtype(0)](const HostArgs& a) {
    return kernels::run_max_roi_pool(s, dtype, a.input<void>(0), a.input<void>(1), a.output<void>(0),
                                     a.threads);
  });
}
}  // namespace

extern const CpuOp kRoiAlignCpu{
    .op = "RoiAlign", .supports = supports, .candidates = align_candidates, .prepare = prepare_align};
extern const CpuOp kMaxRoiPoolCpu{
    .op = "MaxRoiPool", .supports = supports, .candidates = max_candidates, .prepare = prepare_max};

}  // namespace walle::backends::cpu
