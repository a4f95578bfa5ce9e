// CastLike: Cast to the dtype of another value.
#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  c.output(0, c.dtype(1), c.shape(0));
  return {};
}

Status lower(LowerContext& c) {
  c.result(0, c.emit("Cast", {c.in(0)},
                     {{"to", static_cast<int64_t>(c.out_dtype(0))},
                      // Opset 19; round_mode is of opset 24.
                      {"saturate", c.attrs().get_int("saturate", 1)},
                      {"round_mode", c.attrs().get_string("round_mode", "up")}}));
  return {};
}
}  // namespace

extern const ir::OpDef kCastLikeOp{
    .name = "CastLike", .op_class = ir::OpClass::composite, .inputs = {2, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
