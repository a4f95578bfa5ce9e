// StringEqual: Equal on arrays of strings, with broadcasting. How strings travel: ops/rules/words.h.
#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words a, words_of(c.in(0).tensor(), "input A"));
  WALLE_ASSIGN(const Words b, words_of(c.in(1).tensor(), "input B"));
  WALLE_ASSIGN(const Shape shape, tensor::broadcast(a.shape, b.shape));
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::boolean, shape));
  auto same = out.as_mutable<bool>();
  for (int64_t i = 0; i < shape.elements(); ++i)
    same[i] = broadcast_at(a, shape, i) == broadcast_at(b, shape, i);
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kStringEqualOp{
    .name = "StringEqual", .op_class = ir::OpClass::control, .inputs = {2, 2}, .control = run};

}  // namespace walle::ops
