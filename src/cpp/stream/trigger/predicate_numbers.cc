#include "stream/trigger/predicate_numbers.h"

#include <cmath>

#include "base/unreached.h"

namespace walle::stream {

namespace {
Number whole(int64_t i) { return {.known = true, .whole = true, .i = i, .d = static_cast<double>(i)}; }
Number real(double d) { return {.known = std::isfinite(d), .whole = false, .i = 0, .d = d}; }

Number of_value(const Value* v) {
  if (!v || !v->present) return {};
  if (v->type == ColumnType::integer) return whole(v->i);
  if (v->type == ColumnType::real) return real(v->d);
  return {};
}

Number of_whole(PredicateOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case PredicateOp::add: overflow = __builtin_add_overflow(a, b, &out); break;
    case PredicateOp::subtract: overflow = __builtin_sub_overflow(a, b, &out); break;
    case PredicateOp::multiply: overflow = __builtin_mul_overflow(a, b, &out); break;
    case PredicateOp::modulo:  // with the sign of b as in Python
      if (b == 0) return {};
      // The one quotient that overflows, whose remainder is 0.
      out = b == -1 ? 0 : a % b;
      if (out != 0 && (out < 0) != (b < 0)) out += b;
      break;
    case PredicateOp::divide:  // of_real(): a whole quotient would be another number
#define WALLE_PREDICATE_arithmetic(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      return base::unreached(Number{});
  }
  return overflow ? Number{} : whole(out);
}

Number of_real(PredicateOp op, double a, double b) {
  switch (op) {
    case PredicateOp::add: return real(a + b);
    case PredicateOp::subtract: return real(a - b);
    case PredicateOp::multiply: return real(a * b);
    case PredicateOp::divide: return b == 0 ? Number{} : real(a / b);
    case PredicateOp::modulo: return b == 0 ? Number{} : real(a - b * std::floor(a / b));
#define WALLE_PREDICATE_arithmetic(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      break;
  }
  return base::unreached(Number{});
}
}  // namespace

Number number_at(const Predicate& p, size_t at, const Event& event, const Catalog& catalog,
                 const Value* before) {
  const auto& n = p.nodes[at];
  switch (n.op) {
    case PredicateOp::number: {
      const Literal& l = n.literals[0];
      return l.type == ColumnType::integer ? whole(l.i) : real(l.d);
    }
    case PredicateOp::value: return of_value(event.field(catalog, n.field_id));
    case PredicateOp::reference: return of_value(before ? before + n.right : nullptr);
    case PredicateOp::negate: {
      const Number a = number_at(p, n.left, event, catalog, before);
      if (!a.known) return {};
      return a.whole ? of_whole(PredicateOp::subtract, 0, a.i) : real(-a.d);
    }
#define WALLE_PREDICATE_arithmetic(op, symbol) case PredicateOp::op:
#define WALLE_PREDICATE_REST(op, symbol)
#include "stream/trigger/predicate_op.inc"
    break;
#define WALLE_PREDICATE_operand(op, symbol)
#define WALLE_PREDICATE_arithmetic(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      return base::unreached(Number{});
  }
  const Number a = number_at(p, n.left, event, catalog, before);
  const Number b = number_at(p, n.right, event, catalog, before);
  if (!a.known || !b.known) return {};
  if (a.whole && b.whole && n.op != PredicateOp::divide) return of_whole(n.op, a.i, b.i);
  return of_real(n.op, a.d, b.d);
}

int compare_numbers(const Number& a, const Number& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  return a.whole && b.whole ? sign(a.i, b.i) : sign(a.d, b.d);
}

}  // namespace walle::stream
