// Where: condition ? x : y, element by element with broadcasting.
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/formula.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  if (c.dtype(0) != DType::boolean)
    return model_error(dtype_name(c.dtype(0)), "a boolean condition", "Where input 0",
                       "insert a Cast to bool");
  WALLE_TRY(same_dtypes(c, 1, 3));
  WALLE_ASSIGN(Shape out, tensor::broadcast(c.shape(0), c.shape(1)));
  WALLE_ASSIGN(out, tensor::broadcast(out, c.shape(2)));
  c.output(0, c.dtype(1), out);
  return {};
}

// By selection and not by a factor of 0: the gradient of what was not chosen may be infinite.
Status gradient(GradientContext& c) {
  const Term condition(c, c.in(0));
  const Term g(c, c.dy(0));
  if (c.wants(1)) c.result(1, sum_to(c, where(condition, g, 0).ref(), c.out_shape(1)));
  if (c.wants(2)) c.result(2, sum_to(c, where(condition, 0, g).ref(), c.out_shape(2)));
  return {};
}
}  // namespace

extern const ir::OpDef kWhereOp{.name = "Where", .inputs = {3, 3}, .infer = infer, .gradient = gradient};

}  // namespace walle::ops
