// What a predicate says of an event.
#include <algorithm>

#include "base/unreached.h"
#include "stream/trigger/predicate_numbers.h"

namespace walle::stream {

namespace {
// -1, 0, 1; integers are compared as integers, because a double cannot tell all of them apart.
int compare(const Value& v, const Literal& l) {
  const auto sign = [](auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; };
  switch (v.type) {
    case ColumnType::integer:
      return l.type == ColumnType::integer ? sign(v.i, l.i) : sign(static_cast<double>(v.i), l.d);
    case ColumnType::real: return sign(v.d, l.d);
    case ColumnType::boolean: return sign(v.i, l.i);
    case ColumnType::text:
    case ColumnType::bytes:
    case ColumnType::vector: return sign(v.text.compare(l.text), 0);
  }
  return 0;
}

bool text_holds(PredicateOp op, std::string_view value, std::string_view part) {
  if (op == PredicateOp::contains) return value.find(part) != std::string_view::npos;
  return op == PredicateOp::starts_with ? value.starts_with(part) : value.ends_with(part);
}

bool evaluate_node(const Predicate& p, size_t at, const Event& event, const Catalog& catalog,
                   const Value* before) {
  const auto& n = p.nodes[at];
  const auto operand = [&](uint16_t node) { return evaluate_node(p, node, event, catalog, before); };
  switch (n.op) {
    case PredicateOp::always: return true;
    case PredicateOp::logical_or: return operand(n.left) || operand(n.right);
    case PredicateOp::logical_and: return operand(n.left) && operand(n.right);
    case PredicateOp::logical_not: return !operand(n.left);
#define WALLE_PREDICATE_logic(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      break;
  }
  if (n.field.empty()) {
    const Number a = number_at(p, n.left, event, catalog, before);
    const Number b = number_at(p, n.right, event, catalog, before);
    return a.known && b.known && holds(n.op, compare_numbers(a, b));
  }
  // By id: names were resolved when the trigger was compiled.
  const Value* v = event.field(catalog, n.field_id);
  // The only question whose answer is "true" for what a comparison cannot see.
  if (n.op == PredicateOp::exists) return v != nullptr;
  // Two-valued logic: `price > 10` and `price <= 10` are both false where there is no price, and `not` of
  // either is true.
  if (!v) return false;
  if (class_of(n.op) == PredicateClass::text)
    return v->type == ColumnType::text && text_holds(n.op, v->text, n.literals[0].text);
  if (n.op != PredicateOp::in) return holds(n.op, compare(*v, n.literals[0]));
  return std::any_of(n.literals.begin(), n.literals.end(),
                     [&](const Literal& l) { return compare(*v, l) == 0; });
}
}  // namespace

bool holds(PredicateOp op, int order) {
  switch (op) {
    case PredicateOp::eq: return order == 0;
    case PredicateOp::ne: return order != 0;
    case PredicateOp::lt: return order < 0;
    case PredicateOp::le: return order <= 0;
    case PredicateOp::gt: return order > 0;
    case PredicateOp::ge: return order >= 0;
#define WALLE_PREDICATE_order(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      break;
  }
  return base::unreached(false);
}

bool Predicate::evaluate(const Event& event, const Catalog& catalog, const Value* before) const {
  return nodes.empty() || evaluate_node(*this, nodes.size() - 1, event, catalog, before);
}

}  // namespace walle::stream
