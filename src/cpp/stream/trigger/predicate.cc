#include "stream/trigger/predicate.h"

#include <algorithm>
#include <charconv>

namespace walle::stream {

namespace {
const char* symbol(PredicateOp op) {
  switch (op) {
    case PredicateOp::eq: return "==";
    case PredicateOp::ne: return "!=";
    case PredicateOp::lt: return "<";
    case PredicateOp::le: return "<=";
    case PredicateOp::gt: return ">";
    case PredicateOp::ge: return ">=";
    default: return "?";
  }
}

std::string literal_text(const Literal& l) {
  if (l.type == FieldType::text) return "\"" + l.text + "\"";
  if (l.type == FieldType::boolean) return l.i ? "true" : "false";
  if (l.type == FieldType::i64) return std::to_string(l.i);
  char out[40];
  std::string text(
      out, std::to_chars(out, out + sizeof out, l.d).ptr);  // the shortest that reads back as the same number
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // stays a float when it is parsed again
  return text;
}

// How tightly an operand is bound. Parentheses stand only where reading would group otherwise: a long chain
// of `or` nests no deeper in print than it was written.
enum class Binding { loose, conjunction, term };

std::string node_text(const Predicate& p, size_t at, Binding around) {
  const auto& n = p.nodes[at];
  const auto joined = [&](const char* word, Binding own, Binding right) {
    std::string text = node_text(p, n.left, own) + word + node_text(p, n.right, right);
    return own < around ? "(" + text + ")" : text;
  };
  switch (n.op) {
    case PredicateOp::always: return "true";
    case PredicateOp::logical_or: return joined(" or ", Binding::loose, Binding::conjunction);
    case PredicateOp::logical_and: return joined(" and ", Binding::conjunction, Binding::term);
    case PredicateOp::logical_not: return "not " + node_text(p, n.left, Binding::term);
    case PredicateOp::exists: return "exists " + n.field;
    case PredicateOp::in: {
      std::string out = n.field + " in (";
      for (size_t i = 0; i < n.literals.size(); ++i) out += (i ? ", " : "") + literal_text(n.literals[i]);
      return out + ")";
    }
    default: return n.field + " " + symbol(n.op) + " " + literal_text(n.literals[0]);
  }
}

// -1, 0, 1; integers are compared as integers, because a double cannot tell all of them apart.
int compare(const Value& v, const Literal& l) {
  const auto sign = [](auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; };
  switch (v.type) {
    case FieldType::i64:
      return l.type == FieldType::i64 ? sign(v.i, l.i) : sign(static_cast<double>(v.i), l.d);
    case FieldType::f64: return sign(v.d, l.d);
    case FieldType::boolean: return sign(v.i, l.i);
    case FieldType::text: return sign(v.text.compare(l.text), 0);
  }
  return 0;
}

bool holds(PredicateOp op, int order) {
  switch (op) {
    case PredicateOp::eq: return order == 0;
    case PredicateOp::ne: return order != 0;
    case PredicateOp::lt: return order < 0;
    case PredicateOp::le: return order <= 0;
    case PredicateOp::gt: return order > 0;
    case PredicateOp::ge: return order >= 0;
    default: return false;
  }
}

bool evaluate_node(const Predicate& p, size_t at, const Event& event, const Catalog& catalog) {
  const auto& n = p.nodes[at];
  switch (n.op) {
    case PredicateOp::always: return true;
    case PredicateOp::logical_or:
      return evaluate_node(p, n.left, event, catalog) || evaluate_node(p, n.right, event, catalog);
    case PredicateOp::logical_and:
      return evaluate_node(p, n.left, event, catalog) && evaluate_node(p, n.right, event, catalog);
    case PredicateOp::logical_not: return !evaluate_node(p, n.left, event, catalog);
    default: break;
  }
  // By id: names were resolved when the trigger was compiled.
  const Value* v = event.field(catalog, n.field_id);
  // The only question whose answer is "true" for what a comparison cannot see.
  if (n.op == PredicateOp::exists) return v != nullptr;
  // Two-valued logic: `price > 10` and `price <= 10` are both false where there is no price, and `not` of
  // either is true.
  if (!v) return false;
  if (n.op != PredicateOp::in) return holds(n.op, compare(*v, n.literals[0]));
  return std::any_of(n.literals.begin(), n.literals.end(),
                     [&](const Literal& l) { return compare(*v, l) == 0; });
}

bool fits(FieldType field, FieldType literal) {
  // Integers and floats compare with each other; a text with a number would always be false, which nobody
  // means.
  const bool number = literal == FieldType::i64 || literal == FieldType::f64;
  return field == FieldType::i64 || field == FieldType::f64 ? number : field == literal;
}
}  // namespace

std::string Predicate::text() const {
  return nodes.empty() ? "" : node_text(*this, nodes.size() - 1, Binding::loose);
}

bool Predicate::evaluate(const Event& event, const Catalog& catalog) const {
  return nodes.empty() || evaluate_node(*this, nodes.size() - 1, event, catalog);
}

Status Predicate::resolve(const Catalog& catalog, uint16_t event) {
  for (Node& n : nodes) {
    if (n.field.empty()) continue;
    const std::string where = "column " + std::to_string(n.column);
    const auto id = catalog.find_field(n.field);
    int declared = 0;
    // With "*" every event that declares the field must agree with the literal's type.
    for (size_t e = 0; id && e < catalog.events().size(); ++e) {
      if (event != kAny && e != event) continue;
      const FieldDecl* field = catalog.field(static_cast<uint16_t>(e), *id);
      if (!field) continue;
      ++declared;
      for (const Literal& l : n.literals)
        if (!fits(field->type, l.type))
          return argument_error("field '" + n.field + "' compared with " + literal_text(l),
                                "a value of type " + std::string(field_type_name(field->type)), where,
                                "compare it with a value of its declared type");
    }
    if (!declared) {
      const std::string of = event == kAny ? "any event" : "event '" + catalog.events()[event].name + "'";
      return argument_error("field '" + n.field + "', which " + of + " does not declare", "a declared field",
                            where, "declare the field or correct its name");
    }
    // After all events have been asked: a refused predicate is not half resolved.
    n.field_id = *id;
  }
  return {};
}

}  // namespace walle::stream
