// Reshape: the same elements in order under another shape
// (-1: inferred, 0: copied unless allowzero). Costs nothing.
#include "base/checked.h"
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(std::vector<Dim> dims, c.need_dims(1));
  const Shape& in = c.shape(0);
  const bool allow_zero = c.attrs().get_int("allowzero", 0) != 0;
  Dim known = 1;
  int unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    // 0 copies the input's size unless allowzero (opset 14) makes it a size.
    if (dims[i] == 0 && !allow_zero && static_cast<int>(i) < in.rank()) dims[i] = in.dim(static_cast<int>(i));
    if (dims[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
      continue;
    }
    if (dims[i] < 0 || !base::checked_mul(known.value(), dims[i].value()))
      return model_error({"target dimension ", dims[i].value()}, "sizes of zero or more and at most one -1",
                         "input shape", "correct the target shape");
    known *= dims[i];
  }
  // Beside an axis of size 0 any size would do for -1; 0 is what the element count says.
  if (unknown >= 0) dims[unknown] = known != 0 ? in.dim_elements() / known : Dim(0);
  WALLE_TRY(check_rank(dims.size(), "Reshape"));
  const Shape out(dims);
  WALLE_TRY(out.check(dtype_size(c.dtype(0)), "Reshape"));
  if (out.dim_elements() != in.dim_elements())
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
