// Identity: lowers to nothing at all. Sequences and empty optionals pass through the executor the same way.
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status lower(LowerContext& c) {
  c.result(0, c.in(0));
  return {};
}
}  // namespace

extern const ir::OpDef kIdentityOp{
    .name = "Identity", .op_class = ir::OpClass::composite, .infer = infer_same, .lower = lower};

}  // namespace walle::ops
