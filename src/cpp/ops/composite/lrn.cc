// LRN: x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta. The sum is an
// average pool over the channel axis with the padding counted.
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
constexpr int64_t kMaxSize = int64_t{1}
                             << 30;  // half a window's largest size, because it is padded on both sides

Status infer(ir::InferContext& c) {
  const int64_t size = c.attrs().get_int("size", 0);
  if (size < 1 || size > kMaxSize || c.rank(0) < 2)
    return model_error({"size ", size, " for ", c.shape(0).text()}, "size of one or more, and a channel axis",
                       "attribute size", "correct size");
  return infer_same(c);
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape s = c.shape(x);
  const DType dtype = c.dtype(x);
  const int64_t size = c.attrs().get_int("size", 1);
  // ONNX divides alpha by the size of the window, so the mean is what it multiplies; padding counts.
  const Ref squares = c.reshape(c.mul(x, x), Shape{s[0], 1, s[1], s.product(2, s.rank())});
  const ir::Attributes window{{"kernel_shape", std::vector<int64_t>{size, 1}},
                              {"strides", std::vector<int64_t>{1, 1}},
                              {"dilations", std::vector<int64_t>{1, 1}},
                              // ONNX: floor((size - 1) / 2) channels before, ceil((size - 1) / 2) behind.
                              {"pads", std::vector<int64_t>{(size - 1) / 2, 0, size / 2, 0}},
                              {"count_include_pad", int64_t{1}}};
  const Ref mean = c.reshape(c.emit("AveragePool", {squares}, window), s);
  const Ref scaled = c.mul(mean, c.scalar(dtype, c.attrs().get_float("alpha", 1e-4)));
  const Ref base = c.add(scaled, c.scalar(dtype, c.attrs().get_float("bias", 1.0)));
  // The defaults 1e-4, 0.75 and 1 are ONNX's, near those of AlexNet (Krizhevsky et al., 2012).
  c.result(0, c.div(x, c.emit("Pow", {base, c.scalar(dtype, c.attrs().get_float("beta", 0.75))})));
  return {};
}
}  // namespace

extern const ir::OpDef kLRNOp{.name = "LRN",
                              .op_class = ir::OpClass::composite,
                              .infer = infer,
                              .lower = lower,
                              .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
