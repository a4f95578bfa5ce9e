// Where: condition ? x : y, element by element with broadcasting.
#include "ops/registry.h"
#include "ops/rules/infer.h"

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
}  // namespace

extern const ir::OpDef kWhereOp{.name = "Where", .inputs = {3, 3}, .infer = infer};

}  // namespace walle::ops
