#include "stream/trigger/predicate_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace walle::stream {

namespace {

// Of one predicate. Numbers of parts are 16 bits; the others bound what reading one can cost.
constexpr int kMaxNesting = 64;  // parentheses and nots
constexpr size_t kMaxParts = 256;
constexpr size_t kMaxValues = 256;  // of one set

// Operands come before their operator, the root last.
class PredicateParser {
 public:
  explicit PredicateParser(LexemeCursor& in) : in_(in) {}

  Status disjunction(Predicate& p, int depth) {
    WALLE_TRY(conjunction(p, depth));
    while (in_.is_word("or") || in_.is("||")) {
      const int position = in_.take().position;
      // The operand just parsed is the last node, because operands come before their operator.
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(conjunction(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_or, left, p.nodes.size() - 1, position));
    }
    return {};
  }

 private:
  Status join(Predicate& p, PredicateOp op, size_t left, size_t right, int position) {
    Predicate::Node n;
    n.op = op;
    n.left = static_cast<uint16_t>(left);
    n.right = static_cast<uint16_t>(right);
    n.position = position;
    p.nodes.push_back(std::move(n));
    // Evaluation and printing recurse over the nodes.
    if (p.nodes.size() > kMaxParts)
      return in_.wrong("at most " + std::to_string(kMaxParts) + " parts in a predicate", "split the trigger");
    return {};
  }

  Status conjunction(Predicate& p, int depth) {
    WALLE_TRY(term(p, depth));
    while (in_.is_word("and") || in_.is("&&")) {
      const int position = in_.take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(term(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_and, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status term(Predicate& p, int depth) {
    if (depth > kMaxNesting)
      return in_.wrong("at most " + std::to_string(kMaxNesting) + " nested parentheses",
                       "flatten the predicate");
    const int position = in_.peek().position;
    if (in_.accept_word("not") || in_.accept("!")) {
      WALLE_TRY(term(p, depth + 1));
      const size_t operand = p.nodes.size() - 1;
      return join(p, PredicateOp::logical_not, operand, 0, position);
    }
    // A parenthesis counts as a level: the parser calls itself.
    if (in_.accept("(")) {
      WALLE_TRY(disjunction(p, depth + 1));
      return in_.expect(")", "close the parenthesis");
    }
    return comparison(p);
  }

  Status comparison(Predicate& p) {
    Predicate::Node n;
    const bool exists = in_.accept_word("exists");
    n.position = in_.peek().position;
    n.column = in_.column();
    if (!in_.is_name()) return in_.wrong("a field name", "compare a field: price > 10");
    n.field = in_.take().text;
    if (n.field.empty()) return in_.wrong("a field name", "name the field");
    if (exists)
      n.op = PredicateOp::exists;
    else if (in_.accept_word("in"))
      WALLE_TRY(set_of_values(n));
    else
      WALLE_TRY(operand(n));
    p.nodes.push_back(std::move(n));
    return {};
  }

  Status set_of_values(Predicate::Node& n) {
    n.op = PredicateOp::in;
    WALLE_TRY(in_.expect("(", "write brand in (\"a\", \"b\")"));
    do {
      Literal l;
      WALLE_TRY(literal(l));
      n.literals.push_back(std::move(l));
      if (n.literals.size() > kMaxValues)
        return in_.wrong("at most " + std::to_string(kMaxValues) + " values", "split the set");
    } while (in_.accept(","));
    return in_.expect(")", "close the set of values");
  }

  // A bare field is one that is true: `sale` means `sale == true`.
  Status operand(Predicate::Node& n) {
    // A single = is taken for ==: nothing can be assigned here, and everybody types it once.
    static constexpr std::pair<std::string_view, PredicateOp> ops[] = {
        {"==", PredicateOp::eq}, {"=", PredicateOp::eq},  {"!=", PredicateOp::ne}, {"<=", PredicateOp::le},
        {"<", PredicateOp::lt},  {">=", PredicateOp::ge}, {">", PredicateOp::gt}};
    const auto* op =
        std::find_if(std::begin(ops), std::end(ops), [&](const auto& o) { return in_.is(o.first); });
    Literal l{.type = FieldType::boolean, .i = 1, .d = 1, .text = ""};
    n.op = PredicateOp::eq;
    if (op != std::end(ops)) {
      in_.take();
      n.op = op->second;
      l = {};
      WALLE_TRY(literal(l));
    }
    n.literals.push_back(std::move(l));
    return {};
  }

  Status literal(Literal& out) {
    if (in_.peek().kind == TokenKind::text) {
      out.type = FieldType::text;
      out.text = in_.take().text;
      return {};
    }
    if (in_.is_word("true") || in_.is_word("false")) {
      const bool value = in_.take().text == "true";
      out = {.type = FieldType::boolean, .i = value, .d = static_cast<double>(value), .text = ""};
      return {};
    }
    return number(out);
  }

  // An integer where it is one: a double cannot tell all of them apart.
  Status number(Literal& out) {
    const Lexeme start = in_.peek();
    const bool negative = in_.accept("-");
    const Lexeme l = in_.take();
    if (l.kind != TokenKind::number)
      return in_.wrong_at(start, "a number, a quoted text, true or false", "quote texts: brand == \"a\"");
    const std::string text = (negative ? "-" : "") + l.text;
    const char* const end = text.data() + text.size();
    // from_chars, not strtod: it knows no locale, and a trigger must not read differently on a German phone.
    if (const auto r = std::from_chars(text.data(), end, out.i); r.ec == std::errc() && r.ptr == end) {
      out.d = static_cast<double>(out.i);
      return {};
    }
    out.type = FieldType::f64;
    out.i = 0;
    const auto r = std::from_chars(text.data(), end, out.d);
    if (r.ec != std::errc() || r.ptr != end || !std::isfinite(out.d))
      return in_.wrong_at(start, "a finite number", "correct the number");
    return {};
  }

  LexemeCursor& in_;
};

}  // namespace

Status parse_predicate(LexemeCursor& in, Predicate& out) { return PredicateParser(in).disjunction(out, 0); }

}  // namespace walle::stream
