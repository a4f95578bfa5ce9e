// A trigger back to its canonical text: used by explain, by fingerprints and by the round-trip tests.
#include <algorithm>
#include <cctype>

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

// Predicates print their field names bare; names that need quotes are quoted here.
std::string predicate_text(const Predicate& p) {
  Predicate copy = p;
  for (auto& n : copy.nodes)
    if (!n.field.empty()) n.field = quoted(n.field);
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

std::string step_text(const Step& s) {
  std::string out;
  // The first step has no edge before it.
  if (s.follow != Follow::first) {
    if (!s.guard.empty()) out += " !" + atoms_text(s.guard);
    out += s.follow == Follow::next ? " >" : " ~";
    if (s.gap_us) out += "(" + duration_text(*s.gap_us) + ")";
    out += " ";
  }
  out += atoms_text(s.any_of);
  if (s.count != 1) out += "{" + std::to_string(s.count) + "}";
  if (s.optional) out += "?";
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
  for (const Step& s : spec.steps) out += step_text(s);
  if (spec.absent_us) out += " !~ " + atoms_text(spec.absent) + " for " + duration_text(spec.absent_us);
  if (spec.within_us) out += " within " + duration_text(*spec.within_us);
  if (spec.gap_us) out += " gap " + duration_text(*spec.gap_us);
  if (spec.scope == Scope::session) out += " scope session";
  if (spec.scope == Scope::page) out += " scope page";
  if (spec.scope == Scope::by) out += " scope by(" + quoted(spec.by) + ")";
  if (spec.every) out += " every";
  if (spec.once) out += " once";
  if (spec.cooldown_us) out += " cooldown " + duration_text(spec.cooldown_us);
  if (spec.rate) out += " rate " + std::to_string(spec.rate) + " per " + duration_text(spec.rate_us);
  if (!spec.when.empty()) out += when_text(spec);
  return out;
}

}  // namespace walle::stream
