// Hardmax: 1 at the first maximum along one axis, 0 elsewhere.
#include <limits>

#include "ops/rules/axis.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape shape = c.shape(x);
  if (shape.rank() == 0) {
    c.result(0, c.scalar(c.dtype(x), 1));
    return {};
  }
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), shape.rank()));
  // ArgMax of no elements is an error, but here there is nothing to mark.
  if (shape.dim_elements() == 0) {
    c.result(0, x);
    return {};
  }
  // ArgMax takes the first of equal elements, which is the one that ONNX marks.
  const Ref top = c.emit("ArgMax", {x}, {{"axis", int64_t{axis}}, {"keepdims", int64_t{1}}});
  // In 32 bits where they are enough: comparing 64 takes processors of before SSE4.1 three times as long.
  const Dim count = shape.dim(axis);
  const bool narrow = !count.symbolic() && shape[axis] <= std::numeric_limits<int32_t>::max();
  const DType in = narrow ? DType::int32 : DType::int64;
  const Ref places = along_axis(c, iota(c, in, count), axis, shape.rank());
  c.result(0, c.cast(c.emit("Equal", {c.cast(top, in), places}), c.dtype(x)));
  return {};
}
}  // namespace

extern const ir::OpDef kHardmaxOp{
    .name = "Hardmax", .op_class = ir::OpClass::composite, .infer = infer_along_axis, .lower = lower};

}  // namespace walle::ops
