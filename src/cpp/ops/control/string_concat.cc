// StringConcat: the strings of two arrays one behind the other, with broadcasting. How strings travel:
// ops/rules/words.h.
#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words a, words_of(c.in(0).tensor(), "input X"));
  WALLE_ASSIGN(const Words b, words_of(c.in(1).tensor(), "input Y"));
  WALLE_ASSIGN(const Shape shape, tensor::broadcast(a.shape, b.shape));
  // Before anything is made of that size.
  WALLE_ASSIGN(const Shape checked, Shape::checked(shape.dims(), kWordBytes, "StringConcat"));
  Words out{checked, {}};
  out.items.reserve(checked.elements());
  for (int64_t i = 0; i < checked.elements(); ++i)
    out.items.push_back(broadcast_at(a, checked, i) + broadcast_at(b, checked, i));
  WALLE_ASSIGN(Tensor result, tensor_of(out));
  c.output(0, std::move(result));
  return {};
}
}  // namespace

extern const ir::OpDef kStringConcatOp{
    .name = "StringConcat", .op_class = ir::OpClass::control, .inputs = {2, 2}, .control = run};

}  // namespace walle::ops
