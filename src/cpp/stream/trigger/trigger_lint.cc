// What a trigger's author surely did not mean: errors can never
// fire, warnings fire differently from how they read.
#include <algorithm>

#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

namespace {

bool meets(const std::string& a, const std::string& b) { return a == "*" || b == "*" || a == b; }
bool overlaps(const Atom& a, const Atom& b) { return meets(a.event, b.event) && meets(a.page, b.page); }
// By text of the predicates, not by what they mean: a warning too few is better than one that is wrong.
bool covers(const Atom& wide, const Atom& narrow) {
  return (wide.predicate.empty() || wide.predicate == narrow.predicate) &&
         (wide.event == "*" || wide.event == narrow.event) && (wide.page == "*" || wide.page == narrow.page);
}

std::string name(const Atom& a) { return a.event + (a.page == "*" ? "" : "@" + a.page); }

void lint_guard(const Step& s, std::vector<Finding>& out) {
  size_t covered = 0;
  for (const Atom& a : s.any_of) {
    const auto hit =
        std::find_if(s.guard.begin(), s.guard.end(), [&](const Atom& g) { return covers(g, a); });
    covered += hit != s.guard.end();
    for (const Atom& g : s.guard)
      if (overlaps(g, a) && hit == s.guard.end())
        out.push_back({false,
                       "guard '" + name(g) + "' overlaps step '" + name(a) +
                           "': an event of both counts for the guard first",
                       g.position});
  }
  // An error only if every alternative is taken: with one left the step can still match.
  if (covered == s.any_of.size())
    out.push_back({true,
                   "step '" + name(s.any_of[0]) + "' is unreachable: its own guard '" + name(s.guard[0]) +
                       "' takes every such event",
                   s.any_of[0].position});
}

void lint_pages(const TriggerSpec& spec, std::vector<Finding>& out) {
  if (spec.scope != Scope::page) return;
  const Atom* first = nullptr;
  for (const Step& s : spec.steps) {
    // Only steps that must happen on one page each say anything about the instance.
    if (s.optional || s.any_of.size() != 1 || s.any_of[0].page == "*") continue;
    if (first && first->page != s.any_of[0].page)
      out.push_back({true,
                     "step '" + name(s.any_of[0]) +
                         "' is unreachable: scope page keeps a match on one page instance, here of page '" +
                         first->page + "'",
                     s.any_of[0].position});
    else
      first = &s.any_of[0];
  }
}

void lint_times(const TriggerSpec& spec, std::vector<Finding>& out) {
  for (const Step& s : spec.steps)
    // Warnings: the trigger works, one of its numbers does nothing.
    if (s.gap_us && spec.within_us && *s.gap_us >= *spec.within_us)
      out.push_back({false, "the gap of this step never binds: the window is not longer", s.position});
  if (spec.gap_us && spec.within_us && *spec.gap_us >= *spec.within_us)
    out.push_back({false, "'gap' never binds: 'within' is not longer", 0});
  if (spec.within_us && spec.steps.size() == 1 && spec.steps[0].count == 1)
    out.push_back({false, "'within' has no meaning for a single step", 0});
  // Once per cooldown gives no more than `rate` firings in rate_us.
  if (spec.rate && spec.cooldown_us && spec.cooldown_us * spec.rate >= spec.rate_us)
    out.push_back({false, "'rate' never binds: 'cooldown' is stricter", 0});
  if (spec.once && (spec.rate || spec.cooldown_us))
    out.push_back({false, "'once' makes the other limits meaningless", 0});
}

void lint_timer(const TriggerSpec& spec, std::vector<Finding>& out) {
  if (spec.timer == TimerKind::none) return;
  if (spec.within_us || spec.gap_us || spec.every || spec.scope != Scope::device)
    out.push_back({true, "a timer with within, gap, scope or every, which speak of patterns", 0});
}

}  // namespace

std::vector<Finding> lint_trigger(const TriggerSpec& spec) {
  std::vector<Finding> out;
  if (spec.timer == TimerKind::none && spec.steps.empty())
    out.push_back({true, "a trigger without a step or a timer", 0});
  if (!spec.steps.empty() &&
      std::all_of(spec.steps.begin(), spec.steps.end(), [](const Step& s) { return s.optional; }))
    out.push_back({true, "a pattern of optional steps alone", 0});
  for (const Step& s : spec.steps) {
    if (!s.guard.empty()) lint_guard(s, out);
    for (size_t i = 0; i < s.any_of.size(); ++i)
      for (size_t k = 0; k < s.any_of.size(); ++k)
        // Of two that cover each other the first is reported, not both.
        if (i != k && covers(s.any_of[k], s.any_of[i]) && (i > k || !covers(s.any_of[i], s.any_of[k])))
          out.push_back({false, "'" + name(s.any_of[i]) + "' is already taken by '" + name(s.any_of[k]) + "'",
                         s.any_of[i].position});
  }
  if (spec.every && spec.absent_us)
    out.push_back(
        {true, "'every' with a trailing absence, which would need a timer for each of any number of matches",
         0});
  lint_pages(spec, out);
  lint_times(spec, out);
  lint_timer(spec, out);
  return out;
}

}  // namespace walle::stream
