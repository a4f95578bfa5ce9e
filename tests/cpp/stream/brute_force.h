// The oracle: enumerates every way a pattern can match, straight from the trigger's tree, knowing nothing of
// compiled forms, tries or slots.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "stream/random_case.h"

namespace walle::stream::testing {

struct Fired {
  int64_t ts;
  uint64_t seq;
  friend auto operator<=>(const Fired&, const Fired&) = default;
};

class BruteForce {
 public:
  BruteForce(const TriggerSpec& spec, const Catalog& catalog, const std::vector<Recorded>& events,
             size_t added_before)
      : spec_(spec), catalog_(catalog), events_(events), first_(added_before) {}

  std::vector<Fired> run(size_t end, int64_t final_time) {
    for (size_t n = 0; n < end; ++n) {
      absences_before(n, events_[n].event.ts);
      const Event& e = events_[n].event;
      if (catalog_.events()[e.event].kind == EventKind::app_state)
        states_[catalog_.states()[e.page]] = (e.flags & kStateOn) != 0;
      if (n < first_) continue;
      const auto key = partition(e);
      if (!key) continue;
      std::vector<size_t> scope;
      for (size_t i = first_; i <= n; ++i)
        if (partition(events_[i].event) == key) scope.push_back(i);
      const std::string owner = wait_key(e);
      Part& part = parts_[owner];
      if (!ends_here(scope, part) || !state_ok()) continue;
      if (spec_.absent_us) {
        if (part.armed && !absent_between(*part.armed, n, owner)) continue;
        part.armed = n;
      } else {
        part.barrier = n;
        fire(e.ts, e.seq);
      }
    }
    absences_before(end, final_time);
    return fired_;
  }

 private:
  struct Part {
    std::optional<size_t> barrier;        // matches must start behind this event
    std::optional<int64_t> barrier_time;  // ... or later than this time
    std::optional<size_t> armed;
  };

  bool is(const Atom& a, const Event& e) const {
    const bool state = catalog_.events()[e.event].kind == EventKind::app_state;
    if (a.event != "*" && a.event != catalog_.events()[e.event].name) return false;
    if (a.page != "*" && (state || a.page != catalog_.pages()[e.page])) return false;
    return a.predicate.empty() || holds(a.predicate, a.predicate.nodes.size() - 1, e);
  }
  bool is_any(const std::vector<Atom>& atoms, const Event& e) const {
    for (const Atom& a : atoms)
      if (is(a, e)) return true;
    return false;
  }
  bool holds(const Predicate& p, size_t at, const Event& e) const {
    const auto& n = p.nodes[at];
    if (n.op == PredicateOp::logical_not) return !holds(p, n.left, e);
    if (e.contents.empty() || !e.contents[0].present) return false;
    const int64_t x = e.contents[0].i, v = n.literals[0].i;
    switch (n.op) {
      case PredicateOp::eq: return x == v;
      case PredicateOp::ne: return x != v;
      case PredicateOp::lt: return x < v;
      case PredicateOp::le: return x <= v;
      case PredicateOp::gt: return x > v;
      default: return x >= v;
    }
  }
  std::optional<std::string> partition(const Event& e) const {
    if (spec_.scope == Scope::device) return "";
    if (spec_.scope == Scope::session) return std::to_string(e.session);
    if (spec_.scope == Scope::page)
      return e.page_instance ? std::optional(std::to_string(e.page_instance)) : std::nullopt;
    if (e.contents.size() < 2 || !e.contents[1].present) return std::nullopt;
    return std::string(e.contents[1].text);
  }

  // Waiting for something not to happen goes on when the
  // session ends: a purchase in the next one still counts.
  std::string wait_key(const Event& e) const {
    return spec_.scope == Scope::session ? "" : partition(e).value_or("?");
  }

  // Does a match end at scope.back()? Tries every assignment.
  bool ends_here(const std::vector<size_t>& scope, const Part& part) const {
    return extend(scope, part, 0, 0, -1, -1);
  }

  // Steps before `s` are placed (`rep` copies of step s too);
  // `last` and `start` index into scope, -1: none yet.
  bool extend(const std::vector<size_t>& scope, const Part& part, size_t s, int rep, int last,
              int start) const {
    const int end = static_cast<int>(scope.size()) - 1;
    if (s == spec_.steps.size()) return last == end && accepts(scope, part, start);
    const Step& step = spec_.steps[s];
    if (rep == step.count) return extend(scope, part, s + 1, 0, last, start);
    if (rep == 0 && step.optional && extend(scope, part, s + 1, 0, last, start)) return true;
    for (int i = last + 1; i <= end; ++i) {
      const Event& e = events_[scope[static_cast<size_t>(i)]].event;
      if (!is_any(step.any_of, e)) continue;
      if (last >= 0) {
        if (rep == 0 && step.follow == Follow::next && i != last + 1) continue;
        const auto gap = rep == 0 && step.gap_us ? step.gap_us : spec_.gap_us;
        if (gap && e.ts - events_[scope[static_cast<size_t>(last)]].event.ts > *gap) continue;
        if (rep == 0 && guarded(step, scope, last, i)) continue;
      }
      if (extend(scope, part, s, rep + 1, i, start < 0 ? i : start)) return true;
    }
    return false;
  }
  bool guarded(const Step& step, const std::vector<size_t>& scope, int last, int here) const {
    for (int k = last + 1; k <= here; ++k)
      if (is_any(step.guard, events_[scope[static_cast<size_t>(k)]].event)) return true;
    return false;
  }
  bool accepts(const std::vector<size_t>& scope, const Part& part, int start) const {
    const size_t first = scope[static_cast<size_t>(start)];
    const Event &a = events_[first].event, &b = events_[scope.back()].event;
    if (spec_.within_us && b.ts - a.ts > *spec_.within_us) return false;
    if (spec_.every) return true;
    return (!part.barrier || first > *part.barrier) && (!part.barrier_time || a.ts > *part.barrier_time);
  }

  bool absent_between(size_t armed, size_t upto, const std::string& key) const {
    for (size_t i = armed + 1; i <= upto && i < events_.size(); ++i)
      if (wait_key(events_[i].event) == key && is_any(spec_.absent, events_[i].event)) return true;
    return false;
  }
  void absences_before(size_t n, int64_t ts) {
    std::vector<std::pair<int64_t, std::string>> due;
    for (const auto& [key, part] : parts_)
      if (part.armed && events_[*part.armed].event.ts + spec_.absent_us < ts)
        due.emplace_back(events_[*part.armed].event.ts + spec_.absent_us, key);
    std::sort(due.begin(), due.end());
    for (const auto& [deadline, key] : due) {
      Part& part = parts_[key];
      const bool broken = n > 0 && absent_between(*part.armed, n - 1, key);
      part.armed.reset();
      if (broken) continue;
      part.barrier_time = deadline;
      fire(deadline, n ? events_[n - 1].event.seq : 0);
    }
  }
  bool state_ok() {
    if (spec_.when.empty()) return true;
    for (const auto& all : spec_.when) {
      bool ok = true;
      for (const auto& t : all) ok = ok && states_[t.name] == t.wanted;
      if (ok) return true;
    }
    return false;
  }
  void fire(int64_t ts, uint64_t seq) {
    if (spec_.once && !times_.empty()) return;
    if (spec_.cooldown_us && !times_.empty() && ts - times_.back() < spec_.cooldown_us) return;
    const auto rate = static_cast<size_t>(spec_.rate);
    if (rate && times_.size() >= rate && ts - times_[times_.size() - rate] < spec_.rate_us) return;
    times_.push_back(ts);
    fired_.push_back({ts, seq});
  }

  const TriggerSpec& spec_;
  const Catalog& catalog_;
  const std::vector<Recorded>& events_;
  size_t first_;
  std::map<std::string, Part> parts_;
  std::map<std::string, bool> states_;
  std::vector<int64_t> times_;
  std::vector<Fired> fired_;
};

}  // namespace walle::stream::testing
