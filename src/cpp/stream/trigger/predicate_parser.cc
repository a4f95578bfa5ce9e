#include "stream/trigger/predicate_parser.h"

#include <algorithm>
#include <cmath>

#include "base/read_number.h"

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
      WALLE_TRY(refuse_sign("||", "or"));
      const int position = in_.take().position;
      // The operand just parsed is the last node, because operands come before their operator.
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(conjunction(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_or, left, p.nodes.size() - 1, position));
    }
    return {};
  }

 private:
  // One spelling of each operator: what is read aloud, and what the canonical text says.
  Status refuse_sign(std::string_view sign, const std::string& instead) const {
    if (!in_.is(sign)) return {};
    return in_.wrong({"'", instead, "'"}, {"write '", instead, "' instead of '", sign, "'"});
  }

  Status join(Predicate& p, PredicateOp op, size_t left, size_t right, int position) {
    Predicate::Node n;
    n.op = op;
    n.left = static_cast<uint16_t>(left);
    n.right = static_cast<uint16_t>(right);
    n.position = position;
    p.nodes.push_back(std::move(n));
    return room(p);
  }

  Status conjunction(Predicate& p, int depth) {
    WALLE_TRY(term(p, depth));
    while (in_.is_word("and") || in_.is("&&")) {
      WALLE_TRY(refuse_sign("&&", "and"));
      const int position = in_.take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(term(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_and, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status term(Predicate& p, int depth) {
    if (depth > kMaxNesting)
      return in_.wrong({"at most ", kMaxNesting, " nested parentheses"}, "flatten the predicate");
    const int position = in_.peek().position;
    WALLE_TRY(refuse_sign("!", "not"));
    if (in_.accept_word("not")) {
      WALLE_TRY(term(p, depth + 1));
      const size_t operand = p.nodes.size() - 1;
      return join(p, PredicateOp::logical_not, operand, 0, position);
    }
    // A parenthesis counts as a level: the parser calls itself.
    if (in_.is("(") && !holds_number()) {
      in_.take();
      WALLE_TRY(disjunction(p, depth + 1));
      return in_.expect(")", "close the parenthesis");
    }
    return is_plain() ? comparison(p) : arithmetic(p, depth);
  }

  // Whether what the parenthesis here holds is a number: an operator of numbers stands behind it.
  bool holds_number() const {
    int open = 0;
    for (size_t i = 0; in_.peek(i).kind != TokenKind::end; ++i) {
      if (in_.peek(i).kind != TokenKind::sign) continue;
      const std::string& sign = in_.peek(i).text;
      open += (sign == "(") - (sign == ")");
      if (open == 0) return in_.peek(i + 1).kind == TokenKind::sign && is_number_sign(in_.peek(i + 1).text);
    }
    return false;
  }
  static bool is_number_sign(std::string_view sign) {
    constexpr std::string_view signs[] = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="};
    return std::find(std::begin(signs), std::end(signs), sign) != std::end(signs);
  }

  // A field compared with a value, which is most of what is written: one node instead of three, and a match
  // of many such may use an index.
  bool is_plain() const {
    if (in_.is_word("exists")) return true;
    if (!in_.is_name()) return !in_.is("-") && !in_.is("(") && !in_.is("$") && !is_number(0);
    if (in_.peek(1).kind != TokenKind::sign || !is_number_sign(in_.peek(1).text)) return true;
    if (in_.peek(1).text.find_first_of("+-*/%") != std::string::npos) return false;
    const size_t value = in_.peek(2).kind == TokenKind::sign && in_.peek(2).text == "-" ? 3 : 2;
    const Lexeme& behind = in_.peek(value + 1);
    if (behind.kind == TokenKind::sign && behind.text.find_first_of("+-*/%") != std::string::npos)
      return false;
    // A name, a parenthesis, a reference: not a value. Other mistakes are comparison()'s to name.
    const Lexeme& v = in_.peek(value);
    const bool constant = v.text == "true" || v.text == "false";
    return (v.kind != TokenKind::word || constant) &&
           (v.kind != TokenKind::sign || (v.text != "(" && v.text != "$" && (v.text != "-" || value == 2)));
  }
  bool is_number(size_t ahead) const { return in_.peek(ahead).kind == TokenKind::number; }

  Status arithmetic(Predicate& p, int depth) {
    WALLE_TRY(sum(p, depth));
    const size_t left = p.nodes.size() - 1;
    const int position = in_.peek().position;
    WALLE_ASSIGN(const PredicateOp op, order("a comparison", "compare the number: price * quantity > 100"));
    WALLE_TRY(sum(p, depth));
    return join(p, op, left, p.nodes.size() - 1, position);
  }

  Result<PredicateOp> order(std::string expected, std::string next) {
    static constexpr std::pair<std::string_view, PredicateOp> ops[] = {
#define WALLE_PREDICATE_order(op, symbol) {symbol, PredicateOp::op},
#define WALLE_PREDICATE_REST(op, symbol)
#include "stream/trigger/predicate_op.inc"
    };
    WALLE_TRY(refuse_sign("=", "=="));
    const auto* op =
        std::find_if(std::begin(ops), std::end(ops), [&](const auto& o) { return in_.is(o.first); });
    if (op == std::end(ops)) return in_.wrong(expected, next);
    in_.take();
    return op->second;
  }

  Status sum(Predicate& p, int depth) {
    WALLE_TRY(product(p, depth));
    while (in_.is("+") || in_.is("-")) {
      const PredicateOp op = in_.is("+") ? PredicateOp::add : PredicateOp::subtract;
      const int position = in_.take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(product(p, depth));
      WALLE_TRY(join(p, op, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status product(Predicate& p, int depth) {
    WALLE_TRY(factor(p, depth));
    while (in_.is("*") || in_.is("/") || in_.is("%")) {
      const PredicateOp op = in_.is("*")   ? PredicateOp::multiply
                             : in_.is("/") ? PredicateOp::divide
                                           : PredicateOp::modulo;
      const int position = in_.take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(factor(p, depth));
      WALLE_TRY(join(p, op, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status factor(Predicate& p, int depth) {
    if (depth > kMaxNesting)
      return in_.wrong({"at most ", kMaxNesting, " nested parentheses"}, "flatten the predicate");
    Predicate::Node n;
    n.position = in_.peek().position;
    if (in_.accept("(")) {
      WALLE_TRY(sum(p, depth + 1));
      return in_.expect(")", "close the parenthesis");
    }
    // The sign of a number belongs to it.
    if (in_.is("-") && !is_number(1)) {
      const int position = in_.take().position;
      WALLE_TRY(factor(p, depth + 1));
      return join(p, PredicateOp::negate, p.nodes.size() - 1, 0, position);
    }
    if (in_.accept("$")) {
      WALLE_TRY(reference(n));
    } else if (in_.is_name()) {
      n.op = PredicateOp::value;
      n.field = in_.take().text;
      if (n.field.empty()) return in_.wrong("a field name", "name the field");
    } else {
      n.op = PredicateOp::number;
      Literal l;
      WALLE_TRY(number(l));
      n.literals.push_back(std::move(l));
    }
    p.nodes.push_back(std::move(n));
    return room(p);
  }

  // `$view.price`, or `$"view"."price"` where a name is unusual.
  Status reference(Predicate::Node& n) {
    constexpr const char* kHow = "name the event of the step before and its field: $view.price";
    n.op = PredicateOp::reference;
    if (!in_.is_name()) return in_.wrong("an event and its field", kHow);
    const bool quoted = in_.peek().kind == TokenKind::text;
    const Lexeme& at = in_.peek();
    std::string text = in_.take().text;
    const size_t point = quoted ? text.size() : text.rfind('.');
    if (!quoted && (point == std::string::npos || point == 0 || point + 1 == text.size()))
      return in_.wrong_at(at, "an event and its field", kHow);
    if (quoted) {
      WALLE_TRY(in_.expect(".", kHow));
      if (in_.peek().kind != TokenKind::text) return in_.wrong("a field name in quotes", kHow);
      n.field = in_.take().text;
    } else {
      n.field = text.substr(point + 1);
    }
    if (n.field.empty() || text.empty()) return in_.wrong("names that are not empty", kHow);
    n.literals.push_back({.type = ColumnType::text, .i = 0, .d = 0, .text = text.substr(0, point)});
    return {};
  }

  Status room(const Predicate& p) const {
    // Evaluation and printing recurse over the nodes.
    if (p.nodes.size() > kMaxParts)
      return in_.wrong({"at most ", kMaxParts, " parts in a predicate"}, "split the trigger");
    return {};
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
    else if (in_.is_word("contains") || in_.is_word("starts_with") || in_.is_word("ends_with"))
      WALLE_TRY(text_test(n));
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
        return in_.wrong({"at most ", kMaxValues, " values"}, "split the set");
    } while (in_.accept(","));
    return in_.expect(")", "close the set of values");
  }

  Status text_test(Predicate::Node& n) {
    n.op = in_.is_word("contains")      ? PredicateOp::contains
           : in_.is_word("starts_with") ? PredicateOp::starts_with
                                        : PredicateOp::ends_with;
    in_.take();
    if (in_.peek().kind != TokenKind::text) return in_.wrong("a quoted text", "write name contains \"sale\"");
    n.literals.push_back({.type = ColumnType::text, .i = 0, .d = 0, .text = in_.take().text});
    return {};
  }

  // A bare field is one that is true: `sale` means `sale == true`.
  Status operand(Predicate::Node& n) {
    Literal l{.type = ColumnType::boolean, .i = 1, .d = 1, .text = ""};
    n.op = PredicateOp::eq;
    if (in_.is("=") || (in_.peek().kind == TokenKind::sign && is_number_sign(in_.peek().text))) {
      WALLE_ASSIGN(n.op, order("a comparison", "compare the field: price > 10"));
      l = {};
      WALLE_TRY(literal(l));
    }
    n.literals.push_back(std::move(l));
    return {};
  }

  Status literal(Literal& out) {
    if (in_.peek().kind == TokenKind::text) {
      out.type = ColumnType::text;
      out.text = in_.take().text;
      return {};
    }
    if (in_.is_word("true") || in_.is_word("false")) {
      const bool value = in_.take().text == "true";
      out = {.type = ColumnType::boolean, .i = value, .d = static_cast<double>(value), .text = ""};
      return {};
    }
    return number(out);
  }

  Status number(Literal& out) { return parse_number(in_, out); }

  LexemeCursor& in_;
};

}  // namespace

// An integer where it is one: a double cannot tell all of them apart.
Status parse_number(LexemeCursor& in, Literal& out) {
  const Lexeme start = in.peek();
  const bool negative = in.accept("-");
  const Lexeme l = in.take();
  if (l.kind != TokenKind::number)
    return in.wrong_at(start, "a number, a quoted text, true or false", "quote texts: brand == \"a\"");
  const std::string text = (negative ? "-" : "") + l.text;
  const char* const end = text.data() + text.size();
  if (const auto r = read_number(text.data(), end, out.i); r.ec == std::errc() && r.ptr == end) {
    out.d = static_cast<double>(out.i);
    return {};
  }
  out.type = ColumnType::real;
  out.i = 0;
  const auto r = read_number(text.data(), end, out.d);
  if (r.ec != std::errc() || r.ptr != end || !std::isfinite(out.d))
    return in.wrong_at(start, "a finite number", "correct the number");
  return {};
}

Status parse_predicate(LexemeCursor& in, Predicate& out) { return PredicateParser(in).disjunction(out, 0); }

}  // namespace walle::stream
