// Recursive descent over the lexemes; the grammar is in docs/reference/trigger-language.md.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "stream/trigger/duration.h"
#include "stream/trigger/predicate_parser.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {

constexpr size_t kMaxAlternatives = 64;  // events of one set

class Parser : LexemeCursor {
 public:
  using LexemeCursor::LexemeCursor;

  Result<TriggerSpec> trigger() {
    if (is_timer()) {
      WALLE_TRY(timer());
    } else {
      WALLE_TRY(pattern());
    }
    // Clauses in any order: nobody remembers one, and format_trigger() writes them in the canonical one.
    while (!at_end()) WALLE_TRY(clause());
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
      return time_of_day(spec_.timer_us);
    }
    spec_.timer = kind == "every" ? TimerKind::every : TimerKind::idle;
    return duration(spec_.timer_us);
  }

  Status time_of_day(int64_t& us) {
    const Lexeme l = take();
    int hour = -1, minute = -1;
    const char* end = l.text.data() + l.text.size();
    // "03:00" is one lexeme: colons belong to numbers.
    auto a = std::from_chars(l.text.data(), end, hour);
    if (a.ec == std::errc() && a.ptr != end && *a.ptr == ':') {
      const auto b = std::from_chars(a.ptr + 1, end, minute);
      if (b.ec != std::errc() || b.ptr != end) minute = -1;
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
      return wrong_at(l, "a time of day such as 03:00", "write hours and minutes");
    us = hour * kHourUs + minute * kMinuteUs;
    return {};
  }

  // 1 to `most`.
  Result<int> whole(int most, const std::string& what, std::string next) {
    const Lexeme l = take();
    const char* const end = l.text.data() + l.text.size();
    int n = 0;
    const auto r = std::from_chars(l.text.data(), end, n);
    // All of the lexeme, so that "3x" or "3.5" is no count.
    if (l.kind == TokenKind::number && r.ec == std::errc() && r.ptr == end && n >= 1 && n <= most) return n;
    return wrong_at(l, what + " from 1 to " + std::to_string(most), std::move(next));
  }

  Status duration(int64_t& us) {
    const Lexeme l = take();
    double value = 0;
    const char* end = l.text.data() + l.text.size();
    const auto r = std::from_chars(l.text.data(), end, value);
    if (l.kind != TokenKind::number || r.ec != std::errc())
      return wrong_at(l, "a duration such as 500ms, 10s, 15m, 2h or 7d", "write a number and its unit");
    const std::string_view name(r.ptr, end);
    const auto* unit = std::find_if(std::begin(kDurationUnits), std::end(kDurationUnits),
                                    [&](const DurationUnit& u) { return u.name == name; });
    if (unit == std::end(kDurationUnits))
      return wrong_at(l, "a duration in us, ms, s, m, h or d", "add one of these units to the number");
    // Through a double: 1.5h is allowed. Up to 366 days of microseconds are exact in it.
    const double total = std::round(value * static_cast<double>(unit->us));
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
      // A trailing absence ends the pattern: nothing can follow what did not happen.
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
      // Asked while parsing too: a text of 64 KB must not build a tree of thousands of steps first.
      if (std::cmp_greater(spec_.steps.size(), kMaxSteps))
        return wrong("at most " + std::to_string(kMaxSteps) + " steps", "split the trigger");
    }
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
      if (!accept("~")) return wrong("'~' after the guard", "write a !x ~ b: no x between a and b");
      step.follow = Follow::later;
    } else if (accept("~")) {
      step.follow = Follow::later;
    } else {
      return wrong("an edge ('>', '~', '**' or '!x ~') or a clause", "join steps with an edge");
    }
    // A parenthesis behind an edge is its gap if a number follows, else a set of events.
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
      WALLE_ASSIGN(step.count, whole(kMaxSteps, "a count", "write a{3}"));
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
      if (out.size() > kMaxAlternatives)
        return wrong("at most " + std::to_string(kMaxAlternatives) + " alternatives", "split the trigger");
    } while (accept("|"));
    return expect(")", "close the set: (a | b)");
  }

  Status name(std::string& out, std::string_view what) {
    // Bare only: "*" in quotes would be an event of that name, which the canonical text could not tell from
    // the wildcard.
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
    // Else `a ~ within 5s` would wait for an event "within".
    if (peek().kind == TokenKind::word && is_reserved(peek().text))
      return wrong("an event name",
                   "'" + peek().text + "' is a word of the language: quote it if an event has this name");
    WALLE_TRY(name(out.event, "an event name"));
    if (accept("@")) WALLE_TRY(name(out.page, "a page name"));
    if (accept("[")) {
      WALLE_TRY(parse_predicate(*this, out.predicate));
      return expect("]", "close the predicate: a[x > 1]");
    }
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
    // Twice would leave it to the reader which one counts.
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
      // They contradict each other.
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
    // Plain words, not names: a scope in quotes is refused as an unknown one.
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
    WALLE_ASSIGN(spec_.rate, whole(kMaxRate, "a number of firings", "write rate 3 per 1h"));
    if (!accept_word("per")) return wrong("'per' and a duration", "write rate 3 per 1h");
    return duration(spec_.rate_us);
  }

  Status when() {
    do {
      spec_.when.emplace_back();
      do {
        StateTerm t;
        t.wanted = !(accept_word("not") || accept("!"));
        if (!is_name()) return wrong("the name of a state", "write when wifi and not low_battery");
        t.name = take().text;
        // A disjunction of conjunctions: `and` binds tighter, and there are no parentheses, so that a guard
        // stays a few masks.
        spec_.when.back().push_back(std::move(t));
      } while (accept_word("and") || accept("&&"));
    } while (accept_word("or") || accept("||"));
    return {};
  }

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
