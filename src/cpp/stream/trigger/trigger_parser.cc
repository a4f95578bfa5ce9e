// Recursive descent over the lexemes; the grammar is in docs/reference/trigger-language.md.
#include <algorithm>

#include "stream/trigger/clause_parser.h"
#include "stream/trigger/predicate_parser.h"
#include "stream/trigger/value_parser.h"

namespace walle::stream {

namespace {

constexpr size_t kMaxAlternatives = 64;  // events of one set, and patterns of one trigger

using NamedAggregate = std::pair<std::string_view, TriggerAggregateKind>;
constexpr NamedAggregate kAggregates[] = {
#define WALLE_TRIGGER_AGGREGATE(kind, word, group) {word, TriggerAggregateKind::kind},
#define WALLE_NO_TRIGGER_AGGREGATE(word) {word, TriggerAggregateKind::none},
#include "stream/trigger/trigger_aggregate.inc"
};

std::string known_aggregates() {
  std::string out;
  for (const TriggerAggregateFacts& a : kTriggerAggregates)
    if (!a.word.empty()) out += (out.empty() ? "" : ", ") + std::string(a.word);
  return "one of " + out;
}

class Parser : LexemeCursor {
 public:
  using LexemeCursor::LexemeCursor;

  Result<TriggerSpec> trigger() {
    if (is_timer()) {
      WALLE_TRY(timer());
    } else if (is_aggregate()) {
      WALLE_TRY(aggregate());
    } else {
      WALLE_TRY(pattern(spec_.steps));
      WALLE_TRY(own_within());
      while (accept_word("or")) {
        if (spec_.absent_us)
          return wrong("a clause", "write a trigger of its own: an absence ends a pattern");
        WALLE_TRY(pattern(spec_.others.emplace_back()));
        WALLE_TRY(own_within());
        if (spec_.absent_us) return wrong("a clause", "write a trigger of its own for the absence");
        if (spec_.others.size() >= kMaxAlternatives)
          return wrong({"at most ", kMaxAlternatives, " patterns"}, "split the trigger");
      }
    }
    WALLE_TRY(parse_clauses(*this, spec_));
    return std::move(spec_);
  }

 private:
  bool is_timer() const {
    // With a number behind it: `every` alone is a clause, and events may be named daily or idle in quotes.
    return (is_word("every") || is_word("daily") || is_word("idle")) && peek(1).kind == TokenKind::number;
  }

  Status timer() {
    const std::string kind = take().text;
    if (kind == "daily") {
      spec_.timer = TimerKind::daily;
      WALLE_ASSIGN(const int minute, parse_time_of_day(*this, false));
      spec_.timer_us = minute * kMinuteUs;
      return {};
    }
    spec_.timer = kind == "every" ? TimerKind::every : TimerKind::idle;
    WALLE_ASSIGN(spec_.timer_us, parse_duration(*this));
    return {};
  }

  bool opens(std::string_view word) const {
    return is_word(word) && peek(1).kind == TokenKind::sign && peek(1).text == "(";
  }
  bool is_aggregate() const {
    // No event can have a parenthesis behind it, so that these words stay names of events elsewhere.
    return std::ranges::any_of(kAggregates, [&](const auto& a) { return opens(a.first); });
  }

  Status aggregate() {
    TriggerAggregate& a = spec_.aggregate;
    const Lexeme kind = take();
    a.kind = std::ranges::find(kAggregates, kind.text, &NamedAggregate::first)->second;
    if (!a.exists()) return wrong_at(kind, known_aggregates(), "a mean is avg(price)");
    take();
    Step step;
    step.position = peek().position;
    if (a.of_events()) {
      WALLE_TRY(set(step.any_of));
    } else {
      if (!is_name() || peek().text.empty()) return wrong("a field name", "write sum(price of buy)");
      a.field = take().text;
      if (accept_word("of")) {
        WALLE_TRY(set(step.any_of));
      } else {
        step.any_of.emplace_back();
      }
    }
    WALLE_TRY(expect(")", "close what is aggregated: count(a)"));
    spec_.steps.push_back(std::move(step));
    return bound();
  }

  Status bound() {
    TriggerAggregate& a = spec_.aggregate;
    const Lexeme at = peek();
    static constexpr std::pair<std::string_view, PredicateOp> ops[] = {{"==", PredicateOp::eq},
                                                                       {">=", PredicateOp::ge},
                                                                       {">", PredicateOp::gt},
                                                                       {"<=", PredicateOp::le},
                                                                       {"<", PredicateOp::lt}};
    const auto* op = std::find_if(std::begin(ops), std::end(ops), [&](const auto& o) { return is(o.first); });
    const bool known =
        op != std::end(ops) &&
        (a.of_numbers() ? op->first != "==" : op->second != PredicateOp::lt && op->second != PredicateOp::le);
    if (!known)
      return a.of_numbers()
                 ? wrong(">, >=, < or <= and a number", "write sum(price) > 100")
                 : wrong(">, >= or == and a number",
                         "write count(a) > 16; what stays below a number is an absence, a !~ b for 1h");
    take();
    a.op = op->second;
    WALLE_TRY(parse_number(*this, a.bound));
    const bool counts = !a.of_numbers();
    const bool fits = a.bound.type == ColumnType::integer && a.bound.i >= 1 && a.bound.i < kMaxCounted;
    if (counts &&
        !(fits || (a.bound.type == ColumnType::integer && a.bound.i == 0 && a.op == PredicateOp::gt)))
      return wrong_at(at, {"a whole number from 1 to ", kMaxCounted - 1}, "choose one");
    if (!accept_word("keep")) return {};
    if (counts) return wrong("a clause", "counts keep what they need, remove 'keep'");
    WALLE_ASSIGN(a.keep, parse_whole(*this, kMaxCounted, "a number of events", "write keep 256"));
    return {};
  }

  Status pattern(std::vector<Step>& steps) {
    WALLE_TRY(first_step(steps));
    while (peek().kind == TokenKind::sign) {
      // A trailing absence ends the pattern: nothing can follow what did not happen.
      if (accept("!~")) {
        WALLE_TRY(atoms(spec_.absent));
        if (!accept_word("for"))
          return wrong("'for' and a duration", "a trailing absence needs a time: !~ b for 10s");
        WALLE_ASSIGN(spec_.absent_us, parse_duration(*this));
        return {};
      }
      Step next;
      WALLE_TRY(edge(next));
      WALLE_TRY(step_body(next));
      steps.push_back(std::move(next));
      // Asked while parsing too: a text of 64 KB must not build a tree of thousands of steps first.
      if (std::cmp_greater(steps.size(), kMaxSteps))
        return wrong({"at most ", kMaxSteps, " steps"}, "split the trigger");
    }
    return {};
  }

  // `a ~ b within 5m or c`: a pattern's own; behind the last one it is the clause, which holds for all
  // without.
  Status own_within() {
    const bool own = is_word("within") && peek(2).kind == TokenKind::word && peek(2).text == "or";
    if (!own) return {};
    take();
    spec_.own_within.resize(spec_.others.size() + 1);
    WALLE_ASSIGN(spec_.own_within.back(), parse_duration(*this));
    return {};
  }

  // `!x ~ a`: none of x before a, since the scope began or for the duration given.
  Status first_step(std::vector<Step>& steps) {
    Step step;
    if (accept("!")) {
      WALLE_TRY(atoms(step.guard));
      WALLE_TRY(expect("~", "write !x ~ a: no x before a"));
      if (is("(") && peek(1).kind == TokenKind::number) {
        take();
        WALLE_ASSIGN(step.gap_us, parse_duration(*this));
        WALLE_TRY(expect(")", "close the time: !x ~(10m) a"));
      }
    }
    WALLE_TRY(step_body(step));
    steps.push_back(std::move(step));
    return {};
  }

  Status edge(Step& step) {
    // Another way to write `~`, which takes no gap.
    if (accept("**")) {
      step.follow = Follow::later;
      return {};
    }
    if (accept(">")) {
      step.follow = Follow::next;
    } else if (accept("!")) {
      WALLE_TRY(atoms(step.guard));
      // `!x` guards the way to a later step; between neighbours there is nothing to guard.
      if (!is("~") && !is("~>")) return wrong("'~' after the guard", "write a !x ~ b: no x between a and b");
      step.follow = take().text == "~" ? Follow::later : Follow::newest;
    } else if (accept("~")) {
      step.follow = Follow::later;
    } else if (accept("~>")) {
      step.follow = Follow::newest;
    } else {
      return wrong("an edge ('>', '~', '~>', '**' or '!x ~') or a clause", "join steps with an edge");
    }
    // A parenthesis behind an edge is its gap if a number follows, else a set of events.
    if (is("(") && peek(1).kind == TokenKind::number) {
      take();
      WALLE_TRY(gap(step));
      return expect(")", "close the gap: ~(5s)");
    }
    return {};
  }

  // 5s: at most; 7d..: at least; 1d..7d: between. One lexeme: points belong to numbers.
  Status gap(Step& step) {
    const Lexeme l = take();
    const size_t points = l.text.find("..");
    if (points == std::string::npos) {
      WALLE_ASSIGN(step.gap_us, duration_of(*this, l, l.text));
      return {};
    }
    const std::string_view text = l.text;
    WALLE_ASSIGN(step.least_us, duration_of(*this, l, text.substr(0, points)));
    if (points + 2 == text.size()) return {};
    WALLE_ASSIGN(step.gap_us, duration_of(*this, l, text.substr(points + 2)));
    if (*step.gap_us < step.least_us)
      return wrong_at(l, "the shorter time first", "write ~>(1d..7d): at least a day, at most seven");
    return {};
  }

  Status step_body(Step& step) {
    step.position = peek().position;
    if (opens("all")) return together(step);
    WALLE_TRY(atoms(step.any_of));
    if (accept("{")) {
      WALLE_ASSIGN(step.count, parse_whole(*this, kMaxSteps, "a count", "write a{3}"));
      WALLE_TRY(expect("}", "close the count: a{3}"));
    }
    step.optional = accept("?");
    return {};
  }

  // all(a, b | c): each of them, in any order.
  Status together(Step& step) {
    take();
    take();
    do {
      WALLE_TRY(set(step.all_of.emplace_back()));
      if (std::cmp_greater(step.all_of.size(), kMaxTogether))
        return wrong({"at most ", kMaxTogether, " events in all()"}, "split the trigger");
    } while (accept(","));
    if (step.all_of.size() < 2) return wrong("another event", "write all(a, b): both, in any order");
    WALLE_TRY(expect(")", "close the events: all(a, b)"));
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
    WALLE_TRY(set(out));
    WALLE_TRY(expect(")", "close the set: (a | b)"));
    if (is("["))
      return wrong("an edge or a clause", "ask each event of a set by itself: (a[x > 1] | b[x > 1])");
    return {};
  }

  // a | b, or one set in parentheses.
  Status set(std::vector<Atom>& out) {
    if (is("(")) return atoms(out);
    do {
      Atom a;
      WALLE_TRY(atom(a));
      out.push_back(std::move(a));
      if (out.size() > kMaxAlternatives)
        return wrong({"at most ", kMaxAlternatives, " alternatives"}, "split the trigger");
    } while (accept("|"));
    return {};
  }

  Status name(std::string& out, std::string_view what) {
    // Bare only: "*" in quotes would be an event of that name, which the canonical text could not tell from
    // the wildcard.
    if (accept("*")) {
      out = "*";
      return {};
    }
    if (peek().kind != TokenKind::word && peek().kind != TokenKind::text)
      return wrong({what, " or '*'"}, "write event@page; quote unusual names");
    if (peek().kind == TokenKind::text && (peek().text.empty() || peek().text == "*"))
      return wrong("a name that is neither empty nor \"*\"", {"name the ", what});
    out = take().text;
    return {};
  }

  Status atom(Atom& out) {
    out.position = peek().position;
    // Else `a ~ within 5s` would wait for an event "within".
    if (peek().kind == TokenKind::word && is_reserved(peek().text))
      return wrong("an event name",
                   {"'", peek().text, "' is a word of the language: quote it if an event has this name"});
    WALLE_TRY(name(out.event, "an event name"));
    if (accept("@")) WALLE_TRY(name(out.page, "a page name"));
    if (accept("[")) {
      WALLE_TRY(parse_predicate(*this, out.predicate));
      return expect("]", "close the predicate: a[x > 1]");
    }
    return {};
  }

  TriggerSpec spec_;
};

}  // namespace

Result<TriggerSpec> parse_trigger(std::string_view text) {
  WALLE_ASSIGN(auto lexemes, lex_trigger(text));
  WALLE_ASSIGN(TriggerSpec spec, Parser(text, std::move(lexemes)).trigger());
  // Short forms are written out in the canonical text ("x" as "x == true"), which is stored and read again.
  if (const size_t size = format_trigger(spec).size(); size > kMaxTriggerText)
    return argument_error({"a trigger of ", size, " bytes when written out"}, {"at most ", kMaxTriggerText},
                          "trigger", "split the trigger");
  return spec;
}

}  // namespace walle::stream
