// MaxUnpool: puts each element where MaxPool's Indices say, zeros elsewhere.
// Indices count elements of the whole tensor of the default size; with
// output_shape the result is that tensor placed at the origin of a larger one.
#include "ops/rules/views.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
Result<Shape> default_shape(const ir::Attributes& attrs, const Shape& x) {
  if (x.rank() < 3)
    return model_error({"an input of shape ", x.text()}, "batch, channels and spatial axes", "input X",
                       "reshape the input");
  const size_t n = x.rank() - 2;
  WALLE_ASSIGN(const std::vector<int64_t> kernel, spatial_list(attrs, "kernel_shape", n, 1, 1));
  WALLE_ASSIGN(const std::vector<int64_t> stride, spatial_list(attrs, "strides", n, 1, 1));
  WALLE_ASSIGN(const std::vector<int64_t> pads, spatial_list(attrs, "pads", 2 * n, 0, 0));
  std::vector<int64_t> dims{x[0], x[1]};
  for (size_t i = 0; i < n; ++i) {
    // Clamped, so that the product below cannot overflow; checked() then refuses the shape.
    const int64_t in = std::min<int64_t>(x[static_cast<int>(i) + 2], int64_t{1} << 31);
    dims.push_back((in - 1) * stride[i] + kernel[i] - pads[i] - pads[i + n]);
  }
  return Shape::checked(dims, 8, "MaxUnpool");
}

Status infer(ir::InferContext& c) {
  if (c.shape(0) != c.shape(1) || c.dtype(1) != DType::int64)
    return model_error({"X", c.shape(0).text(), " and I", c.shape(1).text()}, "equal shapes, I of int64",
                       "inputs X, I", "use MaxPool's Indices");
  WALLE_ASSIGN(Shape out, default_shape(c.attrs(), c.shape(0)));
  if (c.has(2)) {
    WALLE_ASSIGN(const std::vector<int64_t> wanted, c.need_i64(2));
    WALLE_ASSIGN(const Shape larger, Shape::checked(wanted, tensor::kMaxDTypeSize, "MaxUnpool output_shape"));
    bool fits = larger.rank() == out.rank();
    // Batch and channels must agree; spatial axes may be larger.
    for (int i = 0; fits && i < out.rank(); ++i) fits = i < 2 ? larger[i] == out[i] : larger[i] >= out[i];
    if (!fits)
      return model_error({"output_shape ", larger.text()}, {"at least ", out.text()}, "input output_shape",
                         "correct output_shape");
    out = larger;
  }
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const Shape unpooled, default_shape(c.attrs(), c.shape(c.in(0))));
  const Shape& out = c.out_shape(0);
  const int64_t count = c.shape(c.in(0)).elements();
  raster::LoopSpec loop;
  loop.rank = 1;
  loop.size[0] = count;
  loop.src_step[0] = 1;
  loop.body = raster::contiguous_region(0, 1);
  // Bounds are checked when the loop runs: indices come from another node or from outside.
  loop.index = {{1, unpooled.elements()}};
  loop.index_on_dst = true;
  // Zeros as the base: what no index names stays 0. Of equal indices the last one wins, as in PyTorch.
  loop.base = true;
  const Ref placed =
      c.loop(loop, c.out_dtype(0), unpooled, {c.in(0), c.in(1), zeros(c, c.out_dtype(0), unpooled)});
  if (unpooled == out) {
    c.result(0, placed);
    return {};
  }
  raster::Raster r;
  r.fill = raster::Fill{};
  r.regions.push_back(
      raster::strided_region(0, unpooled.dims(), 0, unpooled.strides().dims(), 0, out.strides().dims()));
  c.result(0, c.raster(std::move(r), c.out_dtype(0), out, {placed}));
  return {};
}
}  // namespace

extern const ir::OpDef kMaxUnpoolOp{.name = "MaxUnpool",
                                    .op_class = ir::OpClass::composite,
                                    .inputs = {2, 3},
                                    .infer = infer,
                                    .lower = lower};

}  // namespace walle::ops
