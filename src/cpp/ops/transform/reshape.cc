// Reshape: the same elements in order under another shape
// (-1: inferred, 0: copied unless allowzero). Costs nothing.
#include "base/checked.h"
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
// -1 beside an axis of size 0, where any size would do: what the other axes leave, as for a batch that is not
// empty. [0, 5, 768] to [0, -1, 12, 64] has 5, which the next operator will ask for.
Dim beside_nothing(const Shape& in, const std::vector<Dim>& dims) {
  Dim given = 1;
  Dim wanted = 1;
  for (int a = 0; a < in.rank(); ++a)
    if (in.dim(a) != 0) given *= in.dim(a);
  for (const Dim d : dims)
    if (d > 0) wanted *= d;
  return in.dim_elements() == 0 && given % wanted == 0 ? given / wanted : Dim(0);
}

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
  if (unknown >= 0) dims[unknown] = known != 0 ? in.dim_elements() / known : beside_nothing(in, dims);
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
