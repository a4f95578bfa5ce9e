#include "stream/trigger/predicate.h"

#include <algorithm>
#include <charconv>

#include "base/unreached.h"

namespace walle::stream {

namespace {
std::string literal_text(const Literal& l) {
  if (l.type == ColumnType::text) return "\"" + l.text + "\"";
  if (l.type == ColumnType::boolean) return l.i ? "true" : "false";
  if (l.type == ColumnType::integer) return std::to_string(l.i);
  char out[40];
  std::string text(
      out, std::to_chars(out, out + sizeof out, l.d).ptr);  // the shortest that reads back as the same number
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // stays a float when it is parsed again
  return text;
}

// How tightly an operand is bound. Parentheses stand only where reading would group otherwise: a long chain
// of `or` nests no deeper in print than it was written.
enum class Binding { loose, conjunction, term };

enum class Rank { sum, product, factor };  // the same of arithmetic

std::string number_text(const Predicate& p, size_t at, Rank around) {
  const auto& n = p.nodes[at];
  const auto joined = [&](Rank own, Rank right) {
    const std::string text =
        number_text(p, n.left, own) + " " + symbol(n.op) + " " + number_text(p, n.right, right);
    return own < around ? "(" + text + ")" : text;
  };
  switch (n.op) {
    case PredicateOp::number: return literal_text(n.literals[0]);
    case PredicateOp::value: return n.field;
    case PredicateOp::reference: return "$" + n.literals[0].text + "." + n.field;
    // Parentheses, or the sign would become the number's.
    case PredicateOp::negate: return "-(" + number_text(p, n.left, Rank::sum) + ")";
    case PredicateOp::add:
    case PredicateOp::subtract: return joined(Rank::sum, Rank::product);
    case PredicateOp::multiply:
    case PredicateOp::divide:
    case PredicateOp::modulo: return joined(Rank::product, Rank::factor);
#define WALLE_PREDICATE_operand(op, symbol)
#define WALLE_PREDICATE_arithmetic(op, symbol)
#define WALLE_PREDICATE_REST(op, symbol) case PredicateOp::op:
#include "stream/trigger/predicate_op.inc"
      break;
  }
  return base::unreached("");
}

std::string node_text(const Predicate& p, size_t at, Binding around) {
  const auto& n = p.nodes[at];
  if (n.field.empty() && class_of(n.op) == PredicateClass::order)
    return number_text(p, n.left, Rank::sum) + " " + symbol(n.op) + " " + number_text(p, n.right, Rank::sum);
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
#define WALLE_PREDICATE_order(op, symbol) case PredicateOp::op:
#define WALLE_PREDICATE_text(op, symbol) case PredicateOp::op:
#define WALLE_PREDICATE_REST(op, symbol)
#include "stream/trigger/predicate_op.inc"
      return n.field + " " + symbol(n.op) + " " + literal_text(n.literals[0]);
#define WALLE_PREDICATE_operand(op, symbol) case PredicateOp::op:
#define WALLE_PREDICATE_arithmetic(op, symbol) case PredicateOp::op:
#define WALLE_PREDICATE_REST(op, symbol)
#include "stream/trigger/predicate_op.inc"
      break;
  }
  return base::unreached("");
}

bool fits(ColumnType field, ColumnType literal) {
  // Integers and floats compare with each other; a text with a number would always be false, which nobody
  // means.
  const bool number = literal == ColumnType::integer || literal == ColumnType::real;
  return field == ColumnType::integer || field == ColumnType::real ? number : field == literal;
}
}  // namespace

std::string Predicate::text() const {
  return nodes.empty() ? "" : node_text(*this, nodes.size() - 1, Binding::loose);
}

bool Predicate::refers() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& n) { return n.op == PredicateOp::reference; });
}

Status Predicate::resolve(const Catalog& catalog, uint16_t event) {
  for (Node& n : nodes) {
    // A reference is about the step before: the compiler resolves it there.
    if (n.field.empty() || n.op == PredicateOp::reference) continue;
    const std::string where = "column " + std::to_string(n.column);
    const auto id = catalog.find_field(n.field);
    int declared = 0;
    // With "*" every event that declares the field must agree with the literal's type.
    for (size_t e = 0; id && e < catalog.events().size(); ++e) {
      if (event != kAny && e != event) continue;
      const FieldDecl* field = catalog.field(static_cast<uint16_t>(e), *id);
      if (!field) continue;
      ++declared;
      if (n.op == PredicateOp::value && !fits(field->type, ColumnType::integer))
        return argument_error(
            {"field '", n.field, "' of type ", column_type_name(field->type), " in arithmetic"}, "a number",
            where, "calculate with fields of numbers");
      for (const Literal& l : n.literals)
        if (!fits(field->type, l.type))
          return argument_error({"field '", n.field, "' compared with ", literal_text(l)},
                                {"a value of type ", column_type_name(field->type)}, where,
                                "compare it with a value of its declared type");
    }
    if (!declared) {
      const std::string of = event == kAny ? "any event" : "event '" + catalog.events()[event].name + "'";
      return argument_error({"field '", n.field, "', which ", of, " does not declare"}, "a declared field",
                            where, "declare the field or correct its name");
    }
    // After all events have been asked: a refused predicate is not half resolved.
    n.field_id = *id;
  }
  return {};
}

}  // namespace walle::stream
