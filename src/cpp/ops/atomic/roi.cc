// RoiAlign and MaxRoiPool: fixed-size features of boxes cut from X [N, C, H, W].
#include <array>

#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
// Each way: the product of both still leaves room for boxes and channels.
constexpr int64_t kMaxPooled = 1 << 20;
// Samples per bin and axis, as many as the kernel takes of a large box.
constexpr int64_t kMaxSamplingRatio = 1024;

Status pooled(ir::InferContext& c, int64_t height, int64_t width) {
  const Shape& x = c.shape(0);
  if (x.rank() != 4 || c.rank(1) != 2)
    return model_error({"X", x.text(), " with rois", c.shape(1).text()}, "X [N, C, H, W] and rois of rank 2",
                       "inputs", "correct the shapes");
  if (height < 1 || width < 1 || height > kMaxPooled || width > kMaxPooled)
    return model_error({"a pooled size of ", height, " x ", width}, "1 to 2^20 each way", "attributes",
                       "correct the pooled size");
  // A box of an empty image has no nearest element to read.
  if (c.shape(1)[0] > 0 && (x[2] == 0 || x[3] == 0 || x[0] == 0))
    return model_error({"boxes in an empty X", x.text()}, "at least one element", "input X",
                       "check the shapes");
  if (!tensor::is_float(c.dtype(0)) || c.dtype(1) != c.dtype(0))
    return model_error("X and rois of different or integer dtypes", "one float dtype", "inputs X, rois",
                       "insert a Cast");
  const int64_t dims[] = {c.shape(1)[0], x[1], height, width};
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, tensor::kMaxDTypeSize, "region of interest"));
  c.output(0, c.dtype(0), out);
  return {};
}

// Inputs X, rois [R, 4] as x1, y1, x2, y2, batch_indices [R].
Status infer_align(ir::InferContext& c) {
  if (c.rank(1) != 2 || c.shape(1)[1] != 4 || c.rank(2) != 1 || c.shape(2)[0] != c.shape(1)[0] ||
      c.dtype(2) != DType::int64)
    return model_error({"rois", c.shape(1).text(), " with batch_indices", c.shape(2).text()},
                       "[R, 4] and int64 [R]", "RoiAlign", "correct the shapes");
  const std::string mode = c.attrs().get_string("mode", "avg");
  if (mode != "avg" && mode != "max")
    return model_error({"mode \"", mode, "\""}, "avg or max", "attribute mode", "choose a known mode");
  // half_pixel is the default since opset 16, and output_half_pixel what RoiAlign did before.
  const std::string coordinates = c.attrs().get_string("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return model_error({"coordinate_transformation_mode \"", coordinates, "\""},
                       "half_pixel or output_half_pixel", "attribute", "choose a known mode");
  if (const int64_t s = c.attrs().get_int("sampling_ratio", 0); s < 0 || s > kMaxSamplingRatio)
    return model_error({"sampling_ratio ", s}, {"0 to ", kMaxSamplingRatio}, "attribute sampling_ratio",
                       "correct it");
  return pooled(c, c.attrs().get_int("output_height", 1), c.attrs().get_int("output_width", 1));
}

// Inputs X, rois [R, 5] as batch, x1, y1, x2, y2.
Status infer_max(ir::InferContext& c) {
  const std::vector<int64_t> size = c.attrs().get_ints("pooled_shape");
  if (size.size() != 2 || c.rank(1) != 2 || c.shape(1)[1] != 5)
    return model_error({"rois", c.shape(1).text()}, "rois [R, 5] and a pooled_shape of two sizes",
                       "MaxRoiPool", "correct rois or pooled_shape");
  return pooled(c, size[0], size[1]);
}

constexpr std::string_view kNoGradient = "no kernel spreads samples of boxes back";

constexpr std::array kRows{
    ir::OpDef{.name = "RoiAlign",
              .inputs = {3, 3},
              .infer = infer_align,
              .numeric = ir::NumericClass::accumulation,
              .no_gradient = kNoGradient},
    ir::OpDef{.name = "MaxRoiPool", .inputs = {2, 2}, .infer = infer_max, .no_gradient = kNoGradient},
};
}  // namespace

extern const std::span<const ir::OpDef> kRoiOps = kRows;

}  // namespace walle::ops
