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

void lint_pages(const std::vector<Step>& steps, std::vector<Finding>& out) {
  const Atom* first = nullptr;
  for (const Step& s : steps) {
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

void lint_edges(const std::vector<Step>& steps, const TriggerSpec& spec, std::vector<Finding>& out) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    // Warnings: the trigger works, one of its numbers does nothing.
    if (i && s.gap_us && spec.within_us && *s.gap_us >= *spec.within_us)
      out.push_back({false, "the gap of this step never binds: the window is not longer", s.position});
    // Which of the earlier events it would be late enough for is not what one slot can tell.
    if (s.least_us && s.follow == Follow::later)
      out.push_back({true,
                     "a least time behind '~', which any older event would do for: write a ~>(7d..) b, "
                     "counted from the newest a",
                     s.position});
    // An edge that is open upwards has no most of its own, and the clause leaves it alone.
    const int64_t most = s.gap_us ? *s.gap_us : s.least_us ? INT64_MAX : spec.gap_us.value_or(INT64_MAX);
    if (s.least_us > most || (spec.within_us && s.least_us > *spec.within_us))
      out.push_back({true, "a step that must come later than its gap or window allows", s.position});
    if (s.follow == Follow::newest && (!s.all_of.empty() || (i && !steps[i - 1].all_of.empty())))
      out.push_back(
          {true, "'~>' beside all(): of several events in any order none is the newest", s.position});
  }
}

void lint_times(const TriggerSpec& spec, std::vector<Finding>& out) {
  if (spec.gap_us && spec.within_us && *spec.gap_us >= *spec.within_us)
    out.push_back({false, "'gap' never binds: 'within' is not longer", 0});
  const bool single = spec.steps.size() == 1 && spec.steps[0].count == 1 && spec.steps[0].all_of.empty();
  if (spec.within_us && single && spec.others.empty() && !spec.aggregate.exists())
    out.push_back({false, "'within' has no meaning for a single step", 0});
  // Once per cooldown gives no more than `rate` firings in rate_us.
  if (spec.rate && spec.cooldown_us && spec.cooldown_us * spec.rate >= spec.rate_us &&
      spec.cooldown_per.key == spec.rate_per.key)
    out.push_back({false, "'rate' never binds: 'cooldown' is stricter", 0});
  if (spec.once && spec.once_per.key.empty() && (spec.rate || spec.cooldown_us))
    out.push_back({false, "'once' makes the other limits meaningless", 0});
}

void lint_timer(const TriggerSpec& spec, std::vector<Finding>& out) {
  if (spec.timer == TimerKind::none) return;
  if (spec.within_us || spec.gap_us || spec.every || spec.scope != Scope::device)
    out.push_back({true, "a timer with within, gap, scope or every, which speak of patterns", 0});
  if (!spec.once_per.key.empty() || !spec.cooldown_per.key.empty() || !spec.rate_per.key.empty())
    out.push_back({true, "a timer with a limit per key, which no event gives it", 0});
}

void lint_aggregate(const TriggerSpec& spec, std::vector<Finding>& out) {
  if (!spec.aggregate.exists()) return;
  if (spec.gap_us) out.push_back({true, "an aggregate with 'gap', which speaks of steps", 0});
  const bool sum = spec.aggregate.of_numbers();
  if (sum && spec.within_us && !spec.aggregate.keep)
    out.push_back({true,
                   "a " + spec.aggregate.word() +
                       " within a window, which must remember every event in it: say how many at most, "
                       "sum(price) > 100 keep 256 within 1h (16 bytes each)",
                   0});
  if (sum && !spec.within_us && spec.aggregate.keep)
    out.push_back({false, "'keep' does nothing: without a window a number or two are all there is", 0});
}

void lint_pattern(const std::vector<Step>& steps, const TriggerSpec& spec, std::vector<Finding>& out) {
  if (!steps.empty() && std::all_of(steps.begin(), steps.end(), [](const Step& s) { return s.optional; }))
    out.push_back({true, "a pattern of optional steps alone", 0});
  for (const Step& s : steps) {
    // In front of the first step only what came before it counts.
    if (!s.guard.empty() && s.all_of.empty() && s.follow != Follow::first) lint_guard(s, out);
    for (size_t i = 0; i < s.any_of.size(); ++i)
      for (size_t k = 0; k < s.any_of.size(); ++k)
        // Of two that cover each other the first is reported, not both.
        if (i != k && covers(s.any_of[k], s.any_of[i]) && (i > k || !covers(s.any_of[i], s.any_of[k])))
          out.push_back({false, "'" + name(s.any_of[i]) + "' is already taken by '" + name(s.any_of[k]) + "'",
                         s.any_of[i].position});
  }
  if (spec.scope == Scope::page) lint_pages(steps, out);
  lint_edges(steps, spec, out);
}

}  // namespace

std::vector<Finding> lint_trigger(const TriggerSpec& spec) {
  std::vector<Finding> out;
  if (spec.timer == TimerKind::none && spec.steps.empty())
    out.push_back({true, "a trigger without a step or a timer", 0});
  lint_pattern(spec.steps, spec, out);
  for (const auto& steps : spec.others) lint_pattern(steps, spec, out);
  if (spec.every && spec.absent_us)
    out.push_back(
        {true, "'every' with a trailing absence, which would need a timer for each of any number of matches",
         0});
  lint_times(spec, out);
  lint_timer(spec, out);
  lint_aggregate(spec, out);
  return out;
}

}  // namespace walle::stream
