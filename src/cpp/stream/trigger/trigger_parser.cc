// Recursive descent over the lexemes; the grammar is in docs/reference/trigger-language.md.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "stream/trigger/trigger_lexer.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {

constexpr int kMaxNesting = 64;  // parentheses and nots of a predicate

class Parser {
 public:
  Parser(std::string_view source, std::vector<Lexeme> lexemes)
      : source_(source), lexemes_(std::move(lexemes)) {}

  Result<TriggerSpec> trigger() {
    if (is_timer()) {
      WALLE_TRY(timer());
    } else {
      WALLE_TRY(pattern());
    }
    while (peek().kind != TokenKind::end) WALLE_TRY(clause());
    return std::move(spec_);
  }

 private:
  const Lexeme& peek(size_t ahead = 0) const { return lexemes_[std::min(at_ + ahead, lexemes_.size() - 1)]; }
  const Lexeme& take() { return lexemes_[at_ < lexemes_.size() - 1 ? at_++ : at_]; }
  bool is(std::string_view sign) const { return peek().kind == TokenKind::sign && peek().text == sign; }
  bool is_word(std::string_view word, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::word && peek(ahead).text == word;
  }
  bool accept(std::string_view sign) { return is(sign) ? (take(), true) : false; }
  bool accept_word(std::string_view word) { return is_word(word) ? (take(), true) : false; }

  Error wrong(std::string expected, std::string next) const {
    return wrong_at(peek(), std::move(expected), std::move(next));
  }
  Error wrong_at(const Lexeme& l, std::string expected, std::string next) const {
    const std::string given = l.kind == TokenKind::end
                                  ? "the end of the trigger"
                                  : "'" +
                                        std::string(source_.substr(static_cast<size_t>(l.position),
                                                                   static_cast<size_t>(l.length))) +
                                        "'";
    return argument_error(given, std::move(expected), place_in(source_, l.position), std::move(next));
  }
  Status expect(std::string_view sign, std::string_view next) {
    if (accept(sign)) return {};
    return wrong("'" + std::string(sign) + "'", std::string(next));
  }

  bool is_timer() const {
    return (is_word("every") || is_word("daily") || is_word("idle")) && peek(1).kind == TokenKind::number;
  }

  Status timer() {
    const std::string kind = take().text;
    if (kind == "daily") {
      spec_.timer = TimerKind::daily;
      return time_of_day(spec_.timer_us);
    }
    spec_.timer = kind == "every" ? TimerKind::every : TimerKind::idle;
    return duration(spec_.timer_us);
  }

  Status time_of_day(int64_t& us) {
    const Lexeme l = take();
    int hour = -1, minute = -1;
    const char* end = l.text.data() + l.text.size();
    auto a = std::from_chars(l.text.data(), end, hour);
    if (a.ec == std::errc() && a.ptr != end && *a.ptr == ':') {
      const auto b = std::from_chars(a.ptr + 1, end, minute);
      if (b.ec != std::errc() || b.ptr != end) minute = -1;
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
      return wrong_at(l, "a time of day such as 03:00", "write hours and minutes");
    us = (int64_t{hour} * 60 + minute) * 60'000'000;
    return {};
  }

  Status duration(int64_t& us) {
    const Lexeme l = take();
    double value = 0;
    const char* end = l.text.data() + l.text.size();
    const auto r = std::from_chars(l.text.data(), end, value);
    if (l.kind != TokenKind::number || r.ec != std::errc())
      return wrong_at(l, "a duration such as 500ms, 10s, 15m, 2h or 7d", "write a number and its unit");
    const std::string unit(r.ptr, end);
    const double scale = unit == "us"   ? 1
                         : unit == "ms" ? 1e3
                         : unit == "s"  ? 1e6
                         : unit == "m"  ? 60e6
                         : unit == "h"  ? 3600e6
                         : unit == "d"  ? 86400e6
                                        : 0;
    if (scale == 0)
      return wrong_at(l, "a duration in us, ms, s, m, h or d", "add one of these units to the number");
    const double total = std::round(value * scale);
    if (!(total >= 1 && total <= static_cast<double>(kMaxDurationUs)))
      return wrong_at(l, "a duration from 1us to 366d", "choose one in this range");
    us = static_cast<int64_t>(total);
    return {};
  }

  Status pattern() {
    Step step;
    WALLE_TRY(step_body(step));
    spec_.steps.push_back(std::move(step));
    while (peek().kind == TokenKind::sign) {
      if (accept("!~")) {
        WALLE_TRY(atoms(spec_.absent));
        if (!accept_word("for"))
          return wrong("'for' and a duration", "a trailing absence needs a time: !~ b for 10s");
        return duration(spec_.absent_us);
      }
      Step next;
      WALLE_TRY(edge(next));
      WALLE_TRY(step_body(next));
      spec_.steps.push_back(std::move(next));
      if (spec_.steps.size() > static_cast<size_t>(kMaxSteps))
        return wrong("at most 16 steps", "split the trigger");
    }
    return {};
  }

  Status edge(Step& step) {
    if (accept("**")) {
      step.follow = Follow::later;
      return {};
    }
    if (accept(">")) {
      step.follow = Follow::next;
    } else if (accept("!")) {
      WALLE_TRY(atoms(step.guard));
      if (!accept("~")) return wrong("'~' after the guard", "write a !x ~ b: no x between a and b");
      step.follow = Follow::later;
    } else if (accept("~")) {
      step.follow = Follow::later;
    } else {
      return wrong("an edge ('>', '~', '**' or '!x ~') or a clause", "join steps with an edge");
    }
    if (is("(") && peek(1).kind == TokenKind::number) {
      take();
      int64_t us = 0;
      WALLE_TRY(duration(us));
      step.gap_us = us;
      return expect(")", "close the gap: ~(5s)");
    }
    return {};
  }

  Status step_body(Step& step) {
    step.position = peek().position;
    WALLE_TRY(atoms(step.any_of));
    if (accept("{")) {
      const Lexeme l = take();
      int n = 0;
      const auto r = std::from_chars(l.text.data(), l.text.data() + l.text.size(), n);
      if (l.kind != TokenKind::number || r.ec != std::errc() || r.ptr != l.text.data() + l.text.size() ||
          n < 1 || n > kMaxSteps)
        return wrong_at(l, "a count from 1 to 16", "write a{3}");
      step.count = n;
      WALLE_TRY(expect("}", "close the count: a{3}"));
    }
    step.optional = accept("?");
    return {};
  }

  Status atoms(std::vector<Atom>& out) {
    if (!accept("(")) {
      Atom a;
      WALLE_TRY(atom(a));
      out.push_back(std::move(a));
      return {};
    }
    do {
      Atom a;
      WALLE_TRY(atom(a));
      out.push_back(std::move(a));
      if (out.size() > 64) return wrong("at most 64 alternatives", "split the trigger");
    } while (accept("|"));
    return expect(")", "close the set: (a | b)");
  }

  Status name(std::string& out, std::string_view what) {
    if (accept("*")) {
      out = "*";
      return {};
    }
    if (peek().kind != TokenKind::word && peek().kind != TokenKind::text)
      return wrong(std::string(what) + " or '*'", "write event@page; quote unusual names");
    if (peek().kind == TokenKind::text && (peek().text.empty() || peek().text == "*"))
      return wrong("a name that is neither empty nor \"*\"", "name the " + std::string(what));
    out = take().text;
    return {};
  }

  Status atom(Atom& out) {
    out.position = peek().position;
    if (peek().kind == TokenKind::word && reserved(peek().text))
      return wrong("an event name",
                   "'" + peek().text + "' is a word of the language: quote it if an event has this name");
    WALLE_TRY(name(out.event, "an event name"));
    if (accept("@")) WALLE_TRY(name(out.page, "a page name"));
    if (accept("[")) {
      WALLE_TRY(disjunction(out.predicate, 0));
      return expect("]", "close the predicate: a[x > 1]");
    }
    return {};
  }

  static bool reserved(std::string_view word) {
    static constexpr std::string_view words[] = {"within",   "gap",  "scope", "skip_past", "every",  "once",
                                                 "cooldown", "rate", "when",  "for",       "daily",  "idle",
                                                 "and",      "or",   "not",   "in",        "exists", "per"};
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  }

  Status join(Predicate& p, PredicateOp op, size_t left, size_t right, int position) {
    Predicate::Node n;
    n.op = op, n.left = static_cast<uint16_t>(left), n.right = static_cast<uint16_t>(right),
    n.position = position;
    p.nodes.push_back(std::move(n));
    if (p.nodes.size() > 256) return wrong("at most 256 parts in a predicate", "split the trigger");
    return {};
  }

  Status disjunction(Predicate& p, int depth) {
    WALLE_TRY(conjunction(p, depth));
    while (is_word("or") || is("||")) {
      const int position = take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(conjunction(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_or, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status conjunction(Predicate& p, int depth) {
    WALLE_TRY(term(p, depth));
    while (is_word("and") || is("&&")) {
      const int position = take().position;
      const size_t left = p.nodes.size() - 1;
      WALLE_TRY(term(p, depth));
      WALLE_TRY(join(p, PredicateOp::logical_and, left, p.nodes.size() - 1, position));
    }
    return {};
  }

  Status term(Predicate& p, int depth) {
    if (depth > kMaxNesting) return wrong("at most 64 nested parentheses", "flatten the predicate");
    const int position = peek().position;
    if (accept_word("not") || accept("!")) {
      WALLE_TRY(term(p, depth + 1));
      const size_t operand = p.nodes.size() - 1;
      return join(p, PredicateOp::logical_not, operand, 0, position);
    }
    if (accept("(")) {
      WALLE_TRY(disjunction(p, depth + 1));
      return expect(")", "close the parenthesis");
    }
    return comparison(p);
  }

  Status comparison(Predicate& p) {
    Predicate::Node n;
    const bool exists = accept_word("exists");
    n.position = peek().position;
    if ((peek().kind != TokenKind::word || reserved(peek().text)) && peek().kind != TokenKind::text)
      return wrong("a field name", "compare a field: price > 10");
    n.field = take().text;
    if (n.field.empty()) return wrong("a field name", "name the field");
    static constexpr std::pair<std::string_view, PredicateOp> ops[] = {
        {"==", PredicateOp::eq}, {"=", PredicateOp::eq},  {"!=", PredicateOp::ne}, {"<=", PredicateOp::le},
        {"<", PredicateOp::lt},  {">=", PredicateOp::ge}, {">", PredicateOp::gt}};
    if (exists) {
      n.op = PredicateOp::exists;
    } else if (accept_word("in")) {
      n.op = PredicateOp::in;
      WALLE_TRY(expect("(", "write brand in (\"a\", \"b\")"));
      do {
        Literal l;
        WALLE_TRY(literal(l));
        n.literals.push_back(std::move(l));
        if (n.literals.size() > 256) return wrong("at most 256 values", "split the set");
      } while (accept(","));
      WALLE_TRY(expect(")", "close the set of values"));
    } else if (const auto* op =
                   std::find_if(std::begin(ops), std::end(ops), [&](const auto& o) { return is(o.first); });
               op != std::end(ops)) {
      take();
      n.op = op->second;
      Literal l;
      WALLE_TRY(literal(l));
      n.literals.push_back(std::move(l));
    } else {  // a bare field: `sale` means `sale == true`
      n.op = PredicateOp::eq;
      n.literals.push_back({FieldType::boolean, 1, 1, ""});
    }
    p.nodes.push_back(std::move(n));
    return {};
  }

  Status literal(Literal& out) {
    if (peek().kind == TokenKind::text) {
      out.type = FieldType::text, out.text = take().text;
      return {};
    }
    if (is_word("true") || is_word("false")) {
      out = {FieldType::boolean, take().text == "true", 0, ""};
      out.d = static_cast<double>(out.i);
      return {};
    }
    const Lexeme start = peek();
    const bool negative = accept("-");
    const Lexeme l = take();
    const char* end = l.text.data() + l.text.size();
    if (l.kind != TokenKind::number)
      return wrong_at(start, "a number, a quoted text, true or false", "quote texts: brand == \"a\"");
    const std::string signed_text = (negative ? "-" : "") + l.text;
    const char *from = signed_text.data(), *to = from + signed_text.size();
    if (const auto r = std::from_chars(from, to, out.i); r.ec == std::errc() && r.ptr == to) {
      out.d = static_cast<double>(out.i);
      return {};
    }
    out.type = FieldType::f64;
    const auto r = std::from_chars(from, to, out.d);
    (void)end;
    if (r.ec != std::errc() || r.ptr != to || !std::isfinite(out.d))
      return wrong_at(start, "a finite number", "correct the number");
    out.i = 0;
    return {};
  }

  // Each clause once; `seen_` remembers.
  Status clause() {
    const Lexeme l = take();
    if (l.kind != TokenKind::word)
      return wrong_at(l, "a clause: within, gap, scope, skip_past, every, once, cooldown, rate or when",
                      "remove or correct it");
    const std::string& word = l.text;
    if (std::find(seen_.begin(), seen_.end(), word) != seen_.end())
      return wrong_at(l, "each clause once", "remove one of them");
    seen_.push_back(word);
    int64_t us = 0;
    if (word == "within") {
      WALLE_TRY(duration(us));
      spec_.within_us = us;
      return {};
    }
    if (word == "gap") {
      WALLE_TRY(duration(us));
      spec_.gap_us = us;
      return {};
    }
    if (word == "scope") return scope();
    if (word == "skip_past" || word == "every") {
      if (std::count(seen_.begin(), seen_.end(), word == "every" ? "skip_past" : "every"))
        return wrong_at(l, "skip_past or every", "choose one");
      spec_.every = word == "every";
      return {};
    }
    if (word == "once") {
      spec_.once = true;
      return {};
    }
    if (word == "cooldown") return duration(spec_.cooldown_us);
    if (word == "rate") return rate();
    if (word == "when") return when();
    return wrong_at(l, "a clause: within, gap, scope, skip_past, every, once, cooldown, rate or when",
                    "join steps with '>' or '~'");
  }

  Status scope() {
    const Lexeme l = take();
    if (l.text == "device")
      spec_.scope = Scope::device;
    else if (l.text == "session")
      spec_.scope = Scope::session;
    else if (l.text == "page")
      spec_.scope = Scope::page;
    else if (l.text == "by") {
      spec_.scope = Scope::by;
      WALLE_TRY(expect("(", "write scope by(item)"));
      if (peek().kind != TokenKind::word && peek().kind != TokenKind::text)
        return wrong("a field name", "write scope by(item)");
      spec_.by = take().text;
      if (spec_.by.empty()) return wrong("a field name", "write scope by(item)");
      return expect(")", "write scope by(item)");
    } else {
      return wrong_at(l, "device, session, page or by(field)", "choose a scope");
    }
    return {};
  }

  Status rate() {
    const Lexeme l = take();
    const auto r = std::from_chars(l.text.data(), l.text.data() + l.text.size(), spec_.rate);
    if (l.kind != TokenKind::number || r.ec != std::errc() || r.ptr != l.text.data() + l.text.size() ||
        spec_.rate < 1 || spec_.rate > kMaxRate)
      return wrong_at(l, "a number of firings from 1 to 64", "write rate 3 per 1h");
    if (!accept_word("per")) return wrong("'per' and a duration", "write rate 3 per 1h");
    return duration(spec_.rate_us);
  }

  Status when() {
    do {
      spec_.when.emplace_back();
      do {
        StateTerm t;
        t.wanted = !(accept_word("not") || accept("!"));
        if ((peek().kind != TokenKind::word || reserved(peek().text)) && peek().kind != TokenKind::text)
          return wrong("the name of a state", "write when wifi and not low_battery");
        t.name = take().text;
        spec_.when.back().push_back(std::move(t));
      } while (accept_word("and") || accept("&&"));
    } while (accept_word("or") || accept("||"));
    return {};
  }

  std::string_view source_;
  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
  TriggerSpec spec_;
  std::vector<std::string> seen_;
};

}  // namespace

Result<TriggerSpec> parse_trigger(std::string_view text) {
  WALLE_ASSIGN(auto lexemes, lex_trigger(text));
  WALLE_ASSIGN(TriggerSpec spec, Parser(text, std::move(lexemes)).trigger());
  // Short forms are written out in the canonical text ("x" as "x == true"), which is stored and read again.
  if (const size_t size = format_trigger(spec).size(); size > kMaxTriggerText)
    return argument_error("a trigger of " + std::to_string(size) + " bytes when written out",
                          "at most " + std::to_string(kMaxTriggerText), "trigger", "split the trigger");
  return spec;
}

}  // namespace walle::stream
