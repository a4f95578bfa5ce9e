#include "ops/rules/formula.h"

namespace walle::ops {

namespace {
// A term as an operand beside one of this dtype.
Ref operand(LowerContext& c, const Term& term, DType dtype) {
  return term.is_number() ? c.scalar(dtype, term.number()) : term.ref();
}
}  // namespace

Term binary(std::string_view op, const Term& a, const Term& b) {
  const Term& value = a.is_number() ? b : a;
  LowerContext& c = value.context();
  return {c, c.emit(op, {operand(c, a, value.dtype()), operand(c, b, value.dtype())})};
}

Term unary(std::string_view op, const Term& x) { return {x.context(), x.context().emit(op, {x.ref()})}; }

Term where(const Term& condition, const Term& a, const Term& b) {
  LowerContext& c = condition.context();
  const DType dtype = a.is_number() ? b.dtype() : a.dtype();
  return {c, c.emit("Where", {condition.ref(), operand(c, a, dtype), operand(c, b, dtype)})};
}

}  // namespace walle::ops
