// Size: the number of elements as an int64 scalar. Known while planning, so it never runs.
#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) { return c.output_sizes(0, Shape{}, {c.shape(0).dim_elements()}); }

Status lower(LowerContext&) { return internal_error("Size is answered by its shape rule", "Size"); }
}  // namespace

extern const ir::OpDef kSizeOp{
    .name = "Size", .op_class = ir::OpClass::transform, .infer = infer, .lower = lower};

}  // namespace walle::ops
