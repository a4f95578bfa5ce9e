// Expand: broadcast to a shape (both ways, as NumPy). One region with source strides of zero.
#include "ops/rules/infer.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> target, c.need_dims(1));
  WALLE_ASSIGN(const Shape shape, checked_shape(target, c.dtype(0), "input shape"));
  // Both ways: a 1 in the target keeps the input's size (ONNX, unlike np.broadcast_to).
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), shape));
  WALLE_TRY(out.check(dtype_size(c.dtype(0)), "Expand"));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  const Shape in = c.shape(c.in(0));
  const Shape& out = c.out_shape(0);
  const Shape from = in.strides();
  Shape stride = out;
  const int missing = out.rank() - in.rank();
  for (int a = 0; a < out.rank(); ++a)
    // Leading axes that the input lacks, and axes of 1, repeat.
    stride.set(a, a < missing || in.dim(a - missing) == 1 ? Dim(0) : from.dim(a - missing));
  raster::Raster r;
  r.regions.push_back(raster::strided_box(0, out, 0, stride, 0, out.strides()));
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kExpandOp{
    .name = "Expand", .op_class = ir::OpClass::transform, .inputs = {2, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
