#include "stream/trigger/clause_parser.h"

#include <algorithm>

#include "stream/trigger/day_span.h"
#include "stream/trigger/value_parser.h"

namespace walle::stream {

namespace {

constexpr const char* kClauses =
    "a clause: within, gap, scope, skip_past, every, once, cooldown, rate, during or when";

class ClauseParser {
 public:
  ClauseParser(LexemeCursor& in, TriggerSpec& spec) : in_(in), spec_(spec) {}

  Status clause() {
    const Lexeme l = in_.take();
    if (l.kind != TokenKind::word) return in_.wrong_at(l, kClauses, "remove or correct it");
    const std::string& word = l.text;
    // Twice would leave it to the reader which one counts.
    if (std::find(seen_.begin(), seen_.end(), word) != seen_.end())
      return in_.wrong_at(l, "each clause once", "remove one of them");
    seen_.push_back(word);
    if (word == "within") {
      WALLE_ASSIGN(spec_.within_us, parse_duration(in_));
      return {};
    }
    if (word == "gap") {
      WALLE_ASSIGN(spec_.gap_us, parse_duration(in_));
      return {};
    }
    if (word == "scope") return scope();
    if (word == "skip_past" || word == "every") return after_match(l);
    if (word == "once") {
      spec_.once = true;
      return per(spec_.once_per);
    }
    if (word == "cooldown") {
      WALLE_ASSIGN(spec_.cooldown_us, parse_duration(in_));
      return per(spec_.cooldown_per);
    }
    if (word == "rate") return rate();
    if (word == "during") return parse_during(in_, spec_.during);
    if (word == "when") return when();
    if (word == "or")
      return in_.wrong_at(l, kClauses, "patterns come before clauses, which speak of all: a or b within 5m");
    return in_.wrong_at(l, kClauses, "join steps with '>' or '~'");
  }

 private:
  Status after_match(const Lexeme& l) {
    // They contradict each other.
    if (std::count(seen_.begin(), seen_.end(), l.text == "every" ? "skip_past" : "every"))
      return in_.wrong_at(l, "skip_past or every", "choose one");
    spec_.every = l.text == "every";
    return {};
  }

  Status scope() {
    const Lexeme l = in_.take();
    // Plain words, not names: a scope in quotes is refused as an unknown one.
    const bool plain = l.kind == TokenKind::word;
    if (plain && l.text == "device") {
      spec_.scope = Scope::device;
    } else if (plain && l.text == "session") {
      spec_.scope = Scope::session;
    } else if (plain && l.text == "page") {
      spec_.scope = Scope::page;
    } else if (plain && l.text == "by") {
      spec_.scope = Scope::by;
      WALLE_TRY(in_.expect("(", "write scope by(item)"));
      WALLE_TRY(parts(spec_.by));
      if (spec_.by.fields.empty())
        return in_.wrong("a field name", "page and session alone are scope page and scope session");
      WALLE_TRY(in_.expect(")", "write scope by(item)"));
      if (!in_.accept_word("keep")) return {};
      WALLE_ASSIGN(spec_.by_keep, parse_whole(in_, kMaxScopeKeys, "a number of keys", "write keep 20000"));
    } else {
      return in_.wrong_at(l, "device, session, page or by(field)", "choose a scope");
    }
    return {};
  }

  // item, page, "two words": bare page and session are the instance and the session, in quotes fields.
  Status parts(EventKey& key) {
    do {
      const Lexeme at = in_.peek();
      const bool bare = at.kind == TokenKind::word;
      const bool page = bare && at.text == "page", session = bare && at.text == "session";
      const bool known = std::find(key.fields.begin(), key.fields.end(), at.text) != key.fields.end();
      const bool again = page ? key.page : session ? key.session : known;
      if (!page && !session && (!in_.is_name() || at.text.empty()))
        return in_.wrong("a field name", "write scope by(item), or once per item");
      if (again) return in_.wrong("each part of a key once", "remove one of them");
      in_.take();
      key.page |= page;
      key.session |= session;
      if (!page && !session) key.fields.push_back(at.text);
      if (std::cmp_greater(key.fields.size(), kMaxKeyFields))
        return in_.wrong_at(at, {"at most ", kMaxKeyFields, " fields in a key"}, "remove some of them");
    } while (in_.accept(","));
    // In one order, so that equal keys are the same scope.
    std::sort(key.fields.begin(), key.fields.end());
    return {};
  }

  // `per item`, `per (user, item) keep 5000`: behind once, a cooldown and a rate.
  Status per(LimitKey& limit) {
    if (!in_.accept_word("per")) return {};
    if (in_.accept("(")) {
      WALLE_TRY(parts(limit.key));
      WALLE_TRY(in_.expect(")", "close the key: per (user, item)"));
    } else {
      WALLE_TRY(part(limit.key));
    }
    if (!in_.accept_word("keep")) return {};
    WALLE_ASSIGN(limit.keep, parse_whole(in_, kMaxLimitKeys, "a number of keys", "write keep 5000"));
    return {};
  }
  Status part(EventKey& key) {
    const bool bare = in_.peek().kind == TokenKind::word;
    if (!in_.is_name() || in_.peek().text.empty())
      return in_.wrong("a field name, page or session", "write once per item");
    const std::string name = in_.take().text;
    if (bare && name == "page")
      key.page = true;
    else if (bare && name == "session")
      key.session = true;
    else
      key.fields.push_back(name);
    return {};
  }

  Status rate() {
    WALLE_ASSIGN(spec_.rate, parse_whole(in_, kMaxRate, "a number of firings", "write rate 3 per 1h"));
    if (!in_.accept_word("per")) return in_.wrong("'per' and a duration", "write rate 3 per 1h");
    WALLE_ASSIGN(spec_.rate_us, parse_duration(in_));
    return per(spec_.rate_per);
  }

  Status when() {
    do {
      spec_.when.emplace_back();
      do {
        StateTerm t;
        t.wanted = !in_.accept_word("not");
        for (const auto& [sign, word] :
             {std::pair("&&", "and"), std::pair("||", "or"), std::pair("!", "not")})
          if (in_.is(sign)) return in_.wrong("the name of a state", {"write ", word});
        if (!in_.is_name()) return in_.wrong("the name of a state", "write when wifi and not low_battery");
        t.name = in_.take().text;
        // A disjunction of conjunctions: `and` binds tighter, and there are no parentheses, so that a guard
        // stays a few masks.
        spec_.when.back().push_back(std::move(t));
        for (const auto& [sign, word] : {std::pair("&&", "and"), std::pair("||", "or")})
          if (in_.is(sign)) return in_.wrong("'and', 'or' or a clause", {"write ", word});
      } while (in_.accept_word("and"));
    } while (in_.accept_word("or"));
    return {};
  }

  LexemeCursor& in_;
  TriggerSpec& spec_;
  std::vector<std::string> seen_;
};

}  // namespace

Status parse_clauses(LexemeCursor& in, TriggerSpec& spec) {
  // In any order: nobody remembers one, and format_trigger() writes them in the canonical one.
  ClauseParser parser(in, spec);
  while (!in.at_end()) WALLE_TRY(parser.clause());
  return {};
}

}  // namespace walle::stream
