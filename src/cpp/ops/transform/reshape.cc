// Reshape: the same elements in order under another shape
// (-1: inferred, 0: copied unless allowzero). Costs nothing.
#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<int64_t> target, c.need_i64(1));
  const Shape& in = c.shape(0);
  const bool allow_zero = c.attrs().get_int("allowzero", 0) != 0;
  std::vector<int64_t> dims = target;
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    // 0 copies the input's size unless allowzero (opset 14) makes it a size.
    if (dims[i] == 0 && !allow_zero && static_cast<int>(i) < in.rank()) dims[i] = in[static_cast<int>(i)];
    if (dims[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
      continue;
    }
    if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known))
      return model_error({"target dimension ", dims[i]}, "sizes of zero or more and at most one -1",
                         "input shape", "correct the target shape");
  }
  // Beside an axis of size 0 any size would do for -1; 0 is what the element count says.
  if (unknown >= 0) dims[unknown] = known ? in.elements() / known : 0;
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, dtype_size(c.dtype(0)), "Reshape"));
  if (out.elements() != in.elements())
    return model_error({"a reshape of ", in.text(), " to ", out.text()}, "equal element counts",
                       "input shape", "correct the target shape");
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  c.result(0, c.reshape(c.in(0), c.out_shape(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kReshapeOp{
    .name = "Reshape", .op_class = ir::OpClass::transform, .inputs = {2, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
