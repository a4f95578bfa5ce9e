// A trigger back to its canonical text: used by explain, by fingerprints and by the round-trip tests.
#include <algorithm>
#include <cctype>

#include "stream/trigger/day_span.h"
#include "stream/trigger/duration.h"
#include "stream/trigger/trigger_lexer.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {
std::string quoted(const std::string& name) {
  // The lexer itself decides whether a name needs quotes: two rules would drift apart.
  const auto lexemes = lex_trigger(name);
  const bool plain = lexemes.ok() && lexemes->size() == 2 && (*lexemes)[0].kind == TokenKind::word &&
                     (*lexemes)[0].text == name && !is_reserved(name) && name != "true" && name != "false";
  return plain ? name : "\"" + name + "\"";
}

// The star means any event or page only in their places; a field of that name is quoted.
std::string quoted_or_any(const std::string& name) { return name == "*" ? name : quoted(name); }

std::string duration_text(int64_t us) {
  // The largest unit that divides it: 90 s prints as 90s, 120 s as 2m.
  for (const auto& [name, size] : kDurationUnits)
    if (us % size == 0) return std::to_string(us / size) + std::string(name);
  return "";  // not reached: every duration is whole microseconds
}

// Predicates print their names bare; names that need quotes are quoted here.
std::string predicate_text(const Predicate& p) {
  Predicate copy = p;
  for (auto& n : copy.nodes) {
    if (n.field.empty()) continue;
    if (n.op != PredicateOp::reference) {
      n.field = quoted(n.field);
      continue;
    }
    // Both or none: bare they are one word, whose last point parts them.
    std::string& event = n.literals[0].text;
    const bool plain =
        quoted(event) == event && quoted(n.field) == n.field && n.field.find('.') == std::string::npos;
    if (plain) continue;
    event = "\"" + event + "\"";
    n.field = "\"" + n.field + "\"";
  }
  return copy.text();
}

std::string atom_text(const Atom& a) {
  std::string out = quoted_or_any(a.event);
  if (a.page != "*") out += "@" + quoted(a.page);
  if (!a.predicate.empty()) out += "[" + predicate_text(a.predicate) + "]";
  return out;
}

std::string atoms_text(const std::vector<Atom>& atoms) {
  // Parentheses around one event would read back as the same, but the canonical text is the shortest.
  if (atoms.size() == 1) return atom_text(atoms[0]);
  std::string out = "(";
  for (size_t i = 0; i < atoms.size(); ++i) out += (i ? " | " : "") + atom_text(atoms[i]);
  return out + ")";
}

std::string gap_text(const Step& s) {
  if (!s.gap_us && !s.least_us) return "";
  const std::string most = s.gap_us ? duration_text(*s.gap_us) : "";
  return "(" + (s.least_us ? duration_text(s.least_us) + ".." + most : most) + ")";
}

std::string edge_text(const Step& s) {
  std::string out;
  // The first step has an edge before it only if something must be absent there.
  if (s.follow == Follow::first)
    return s.guard.empty() ? "" : "!" + atoms_text(s.guard) + " ~" + gap_text(s) + " ";
  if (!s.guard.empty()) out += " !" + atoms_text(s.guard);
  out += s.follow == Follow::next ? " >" : s.follow == Follow::newest ? " ~>" : " ~";
  return out + gap_text(s) + " ";
}

std::string step_text(const Step& s) {
  std::string out = edge_text(s);
  if (s.all_of.empty()) {
    out += atoms_text(s.any_of);
  } else {
    out += "all(";
    for (size_t i = 0; i < s.all_of.size(); ++i) out += (i ? ", " : "") + atoms_text(s.all_of[i]);
    out += ")";
  }
  if (s.count != 1) out += "{" + std::to_string(s.count) + "}";
  if (s.optional) out += "?";
  return out;
}

std::string aggregate_text(const TriggerSpec& spec) {
  const TriggerAggregate& a = spec.aggregate;
  const std::vector<Atom>& of = spec.steps[0].any_of;
  std::string out = a.word() + "(" + (a.of_events() ? atoms_text(of) : quoted(a.field));
  if (!a.of_events() && of != std::vector<Atom>(1)) out += " of " + atoms_text(of);
  // Of the one event whose field is the number: the predicate knows how operators and numbers are written.
  Predicate bound;
  bound.nodes.push_back({.op = a.op, .field = ")", .literals = {a.bound}});
  out += bound.text();
  if (a.keep) out += " keep " + std::to_string(a.keep);
  return out;
}

std::string key_text(const EventKey& key) {
  std::string out;
  for (const std::string& f : key.fields)
    // Bare these two are the instance and the session.
    out += (out.empty() ? "" : ", ") + (f == "page" || f == "session" ? "\"" + f + "\"" : quoted(f));
  if (key.page) out += out.empty() ? "page" : ", page";
  if (key.session) out += out.empty() ? "session" : ", session";
  return out;
}

std::string per_text(const LimitKey& limit) {
  if (limit.key.empty()) return "";
  const size_t parts = limit.key.fields.size() + limit.key.page + limit.key.session;
  std::string out = " per " + (parts == 1 ? key_text(limit.key) : "(" + key_text(limit.key) + ")");
  if (limit.keep != kDefaultLimitKeys) out += " keep " + std::to_string(limit.keep);
  return out;
}

std::string when_text(const TriggerSpec& spec) {
  std::string out = " when ";
  for (size_t i = 0; i < spec.when.size(); ++i) {
    if (i) out += " or ";
    for (size_t k = 0; k < spec.when[i].size(); ++k)
      out += std::string(k ? " and " : "") + (spec.when[i][k].wanted ? "" : "not ") +
             quoted(spec.when[i][k].name);
  }
  return out;
}
}  // namespace

std::string format_key(const EventKey& key) { return key_text(key); }

std::string format_trigger(const TriggerSpec& spec) {
  std::string out;
  if (spec.timer == TimerKind::every) out = "every " + duration_text(spec.timer_us);
  if (spec.timer == TimerKind::idle) out = "idle " + duration_text(spec.timer_us);
  if (spec.timer == TimerKind::daily) {
    // Of the day, as HH:MM; the parser takes no seconds.
    const auto minutes = spec.timer_us / kMinuteUs;
    const auto two = [](int64_t v) { return (v < 10 ? "0" : "") + std::to_string(v); };
    out = "daily " + two(minutes / 60) + ":" + two(minutes % 60);
  }
  if (spec.aggregate.exists()) {
    out += aggregate_text(spec);
  } else {
    for (const Step& s : spec.steps) out += step_text(s);
  }
  for (size_t i = 0; i < spec.others.size(); ++i) {
    if (i < spec.own_within.size() && spec.own_within[i])
      out += " within " + duration_text(spec.own_within[i]);
    out += " or ";
    for (const Step& s : spec.others[i]) out += step_text(s);
  }
  if (spec.absent_us) out += " !~ " + atoms_text(spec.absent) + " for " + duration_text(spec.absent_us);
  if (spec.within_us) out += " within " + duration_text(*spec.within_us);
  if (spec.gap_us) out += " gap " + duration_text(*spec.gap_us);
  if (spec.scope == Scope::session) out += " scope session";
  if (spec.scope == Scope::page) out += " scope page";
  if (spec.scope == Scope::by) out += " scope by(" + key_text(spec.by) + ")";
  if (spec.by_keep) out += " keep " + std::to_string(spec.by_keep);
  if (spec.every) out += " every";
  if (spec.once) out += " once" + per_text(spec.once_per);
  if (spec.cooldown_us) out += " cooldown " + duration_text(spec.cooldown_us) + per_text(spec.cooldown_per);
  if (spec.rate)
    out += " rate " + std::to_string(spec.rate) + " per " + duration_text(spec.rate_us) +
           per_text(spec.rate_per);
  if (!spec.during.empty()) out += " during " + format_during(spec.during);
  if (!spec.when.empty()) out += when_text(spec);
  return out;
}

}  // namespace walle::stream
