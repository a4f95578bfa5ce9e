#include "stream/match/value_token.h"

#include "base/hash.h"

namespace walle::stream {

namespace {
// 1 and 1.0 compare equal, and so do the two zeros: numbers are hashed as what they are as a double.
uint32_t hash_of(uint16_t field, ColumnType type, double number, int64_t boolean, std::string_view text) {
  base::Hasher h;
  h.value(field);
  switch (type) {
    case ColumnType::integer:
    case ColumnType::real: h.value(number + 0.0); break;
    case ColumnType::boolean: h.value(boolean); break;
    case ColumnType::text:
    case ColumnType::bytes:
    case ColumnType::vector: h.text(text); break;
  }
  return static_cast<uint32_t>(h.finish() >> 32) | 1;
}

ValueToken find(const Predicate& p, size_t at) {
  const Predicate::Node& n = p.nodes[at];
  if (n.op == PredicateOp::logical_and) {
    const ValueToken left = find(p, n.left);
    return left.hash ? left : find(p, n.right);
  }
  if (n.op != PredicateOp::eq || n.field.empty() || n.literals.size() != 1) return {};
  const Literal& l = n.literals[0];
  const double number = l.type == ColumnType::integer ? static_cast<double>(l.i) : l.d;
  return {hash_of(n.field_id, l.type, number, l.i, l.text), n.field_id};
}
}  // namespace

ValueToken value_token(const Predicate& predicate) {
  return predicate.empty() ? ValueToken() : find(predicate, predicate.nodes.size() - 1);
}

uint32_t value_hash(uint16_t field, const Value& v) {
  const double number = v.type == ColumnType::integer ? static_cast<double>(v.i) : v.d;
  return hash_of(field, v.type, number, v.i, v.text);
}

}  // namespace walle::stream
