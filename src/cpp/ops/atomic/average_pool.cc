// AveragePool. The form kernels take: X [N, C, H, W], kernel_shape, strides, dilations
// (2 each) and pads (4) explicit; the output's shape is authoritative. The divisor
// counts the taps inside the input, with count_include_pad those inside the padded
// input (a window that ceil_mode lets reach further never counts what lies beyond).
#include "ops/gradient.h"
#include "ops/rules/pool.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status lower(LowerContext& c) { return lower_pool(c, "AveragePool"); }

// How many elements each window of an axis is divided by, along the axis.
Ref counts(LowerContext& c, const Window& w, const Shape& in, int i, int64_t outputs) {
  const bool padding = c.attrs().get_int("count_include_pad", 0) != 0;
  if (!c.may_tabulate(outputs, w.kernel[i])) return kNoRef;
  std::vector<double> values;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t count = 0;
    for (int64_t tap = 0; tap < w.kernel[i]; ++tap) {
      const int64_t at = o * w.stride[i] + tap * w.dilation[i] - (padding ? 0 : w.pad_begin[i]);
      const int64_t end = in[i + 2] + (padding ? w.pad_begin[i] + w.pad_end[i] : 0);
      count += at >= 0 && at < end;
    }
    values.push_back(static_cast<double>(count));
  }
  Shape shape{outputs};
  for (int rest = i + 1; rest < w.rank(); ++rest) shape.push_back(1);
  return constant_of(c, DType::float32, shape, values);
}

// Every element of a window gets an equal part: a depthwise convolution with ones, transposed.
Status gradient(GradientContext& c) {
  const Shape in = c.out_shape(0);
  const Shape out = c.shape(c.dy(0));
  const DType dtype = c.out_dtype(0);
  WALLE_ASSIGN(const Window w, pool_window(c.attrs(), in));
  Ref divisor = counts(c, w, in, 0, out[2]);
  divisor = c.mul(divisor, counts(c, w, in, 1, out[3]));
  const Ref part = c.div(c.dy(0), c.cast(divisor, dtype));
  ir::Attributes a = spreading(w, in, out);
  a.set("group", in[1]);
  const Ref ones = expand_to(c, c.scalar(dtype, 1), Shape{in[1], 1, w.kernel[0], w.kernel[1]});
  c.result(0, c.emit("ConvTranspose", {part, ones}, std::move(a)));
  return {};
}
}  // namespace

extern const ir::OpDef kAveragePoolOp{.name = "AveragePool",
                                      .infer = infer_pool,
                                      .lower = lower,
                                      .cost = cost_pool,
                                      .numeric = ir::NumericClass::accumulation,
                                      .gradient = gradient};

}  // namespace walle::ops
