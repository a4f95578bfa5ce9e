// The oracle: enumerates every way a pattern can match, straight from the trigger's tree, knowing nothing of
// compiled forms, tries or slots.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "stream/brute_values.h"

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
      : spec_(spec), catalog_(catalog), values_(catalog), events_(events), first_(added_before) {}

  std::vector<Fired> run(size_t end, int64_t final_time) {
    for (size_t n = 0; n < end; ++n) {
      absences_before(n, events_[n].event.ts);
      const Event& e = events_[n].event;
      if (catalog_.events()[e.event].kind == EventKind::app_state)
        states_[catalog_.states()[e.page]] = (e.flags & kStateOn) != 0;
      if (n < first_) continue;
      for (const std::string& key : keys_of(n)) step(n, key);
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
  struct Placed {  // so far, by place in the scope; -1: none yet
    int last = -1, start = -1;
    const std::vector<Atom>* atoms = nullptr;  // of the step that `last` fits
  };

  void step(size_t n, const std::string& key) {
    scope_.clear();
    bool begun = false;  // with the first event that has all fields of the key
    for (size_t i = first_; i <= n; ++i) {
      const Event& e = events_[i].event;
      begun |= !is_shared(e) && own_key(e) == key;
      if (begun && belongs(e, key)) scope_.push_back(i);
    }
    Part& part = parts_[key];
    if (!holds_here(part) || !state_ok()) return;
    const Event& e = events_[n].event;
    if (spec_.absent_us) {
      if (part.armed && !absent_between(*part.armed, n, key)) return;
      part.armed = n;
      return;
    }
    if (!is_time(spec_.during, e.ts)) return;
    part.barrier = n;
    fire(e.ts, e.seq, e);
  }

  const Event& event(int place) const { return events_[scope_[static_cast<size_t>(place)]].event; }
  bool is_any(const std::vector<Atom>& atoms, const Event& e, const Event* before = nullptr) const {
    for (const Atom& a : atoms)
      if (values_.is(a, e, before)) return true;
    return false;
  }

  // The key that an event's own fields make; the part of it that all keys of its page share.
  std::optional<std::string> own_key(const Event& e) const {
    if (spec_.scope == Scope::device) return "";
    if (spec_.scope == Scope::session) return std::to_string(e.session);
    if (spec_.scope == Scope::page)
      return e.page_instance ? std::optional(std::to_string(e.page_instance)) : std::nullopt;
    auto out = outer_key(e);
    for (const std::string& field : spec_.by.fields) {
      const auto text = values_.text(e, field);
      if (!text || !out) return std::nullopt;
      *out += "," + *text;
    }
    return out;
  }
  std::optional<std::string> outer_key(const Event& e) const {
    if (spec_.by.page && !e.page_instance) return std::nullopt;
    return (spec_.by.page ? std::to_string(e.page_instance) : "") + "/" +
           (spec_.by.session ? std::to_string(e.session) : "") + ":";
  }
  // Without any of the fields, it belongs to every key of its page or session.
  bool is_shared(const Event& e) const {
    if (spec_.scope != Scope::by || !(spec_.by.page || spec_.by.session) || !outer_key(e)) return false;
    for (const std::string& field : spec_.by.fields)
      if (values_.text(e, field)) return false;
    return true;
  }
  bool belongs(const Event& e, const std::string& key) const {
    if (is_shared(e)) return key.starts_with(*outer_key(e));
    return own_key(e) == key;
  }
  std::set<std::string> keys_of(size_t n) const {
    std::set<std::string> out;
    const Event& e = events_[n].event;
    if (!is_shared(e)) {
      if (const auto key = own_key(e)) out.insert(*key);
      return out;
    }
    for (size_t i = first_; i < n; ++i) {
      const auto key = is_shared(events_[i].event) ? std::nullopt : own_key(events_[i].event);
      if (key && belongs(e, *key)) out.insert(*key);
    }
    return out;
  }

  // Does a match end at the scope's last event? Tries every assignment.
  bool holds_here(const Part& part) const {
    if (spec_.aggregate.kind != TriggerAggregateKind::none) return aggregate(part);
    within_ = window_of(0);
    if (extend(spec_.steps, part, 0, 0, 0, {})) return true;
    for (size_t i = 0; i < spec_.others.size(); ++i) {
      within_ = window_of(i + 1);
      if (extend(spec_.others[i], part, 0, 0, 0, {})) return true;
    }
    return false;
  }
  std::optional<int64_t> window_of(size_t pattern) const {
    const bool own = pattern < spec_.own_within.size() && spec_.own_within[pattern] != 0;
    return own ? std::optional(spec_.own_within[pattern]) : spec_.within_us;
  }

  // Steps before `s` are placed; `rep` copies of step s too, or those of its all() that `used` says.
  bool extend(const std::vector<Step>& steps, const Part& part, size_t s, int rep, unsigned used,
              const Placed& at) const {
    const int end = static_cast<int>(scope_.size()) - 1;
    if (s == steps.size()) return at.last == end && accepts(part, at.start);
    const Step& step = steps[s];
    const int wanted = step.all_of.empty() ? step.count : static_cast<int>(step.all_of.size());
    if (rep == wanted) return extend(steps, part, s + 1, 0, 0, at);
    if (rep == 0 && step.optional && extend(steps, part, s + 1, 0, 0, at)) return true;
    if (step.all_of.empty()) return place(steps, part, s, rep, 0, step.any_of, at);
    for (unsigned k = 0; k < step.all_of.size(); ++k)
      if (!(used >> k & 1) && place(steps, part, s, rep, used | 1u << k, step.all_of[k], at)) return true;
    return false;
  }
  bool place(const std::vector<Step>& steps, const Part& part, size_t s, int rep, unsigned used,
             const std::vector<Atom>& atoms, const Placed& at) const {
    for (int i = at.last + 1; i < static_cast<int>(scope_.size()); ++i) {
      const Event* before = at.last >= 0 ? &event(at.last) : nullptr;
      if (!is_any(atoms, event(i), before)) continue;
      if (!follows(steps[s], rep, at, i)) continue;
      if (extend(steps, part, s, rep + 1, used, {i, at.start < 0 ? i : at.start, &atoms})) return true;
    }
    return false;
  }

  bool follows(const Step& step, int rep, const Placed& at, int i) const {
    if (at.last < 0) {
      if (is_shared(event(i))) return false;  // it goes on with matches, and begins none
      return step.follow != Follow::first || clear_before(step, i);
    }
    const int64_t since = event(i).ts - event(at.last).ts;
    const bool own = rep == 0 && (step.gap_us || step.least_us);
    const auto gap = own ? step.gap_us : spec_.gap_us;
    if (gap && since > *gap) return false;
    if (rep > 0) return true;
    if (step.follow == Follow::next && i != at.last + 1) return false;
    if (step.least_us && since < step.least_us) return false;
    for (int k = at.last + 1; step.follow == Follow::newest && k < i; ++k)
      if (is_any(*at.atoms, event(k))) return false;
    for (int k = at.last + 1; k <= i; ++k)
      if (is_any(step.guard, event(k))) return false;
    return true;
  }
  // Nothing of a first step's guard before it, or for its time.
  bool clear_before(const Step& step, int i) const {
    for (int k = 0; k < i; ++k)
      if (is_any(step.guard, event(k)) && (!step.gap_us || event(i).ts - event(k).ts <= *step.gap_us))
        return false;
    return true;
  }
  bool behind_barrier(const Part& part, int place) const {
    return spec_.every || ((!part.barrier || scope_[static_cast<size_t>(place)] > *part.barrier) &&
                           (!part.barrier_time || event(place).ts > *part.barrier_time));
  }
  bool accepts(const Part& part, int start) const {
    return !(within_ && events_[scope_.back()].event.ts - event(start).ts > *within_) &&
           behind_barrier(part, start);
  }

  // Counts, adds up or collects all events of the window, anew at each.
  bool aggregate(const Part& part) const {
    const TriggerAggregate& a = spec_.aggregate;
    within_ = spec_.within_us;
    const auto counted = [&](int place) {
      const Event& e = event(place);
      return is_any(spec_.steps[0].any_of, e) &&
             (a.kind == TriggerAggregateKind::count || values_.text(e, a.field));
    };
    const int end = static_cast<int>(scope_.size()) - 1;
    if (!counted(end)) return false;
    double count = 0, sum = 0, least = 0, most = 0;
    std::set<std::string> values;
    for (int i = 0; i <= end; ++i) {
      if (!counted(i) || !accepts(part, i)) continue;
      ++count;
      if (a.of_numbers()) {
        const double number = *values_.number(event(i), a.field);
        sum += number;
        least = count == 1 ? number : std::min(least, number);
        most = count == 1 ? number : std::max(most, number);
      }
      if (a.kind == TriggerAggregateKind::distinct) values.insert(*values_.text(event(i), a.field));
    }
    if (a.kind == TriggerAggregateKind::distinct) count = static_cast<double>(values.size());
    if (a.kind == TriggerAggregateKind::sum) count = sum;
    if (a.kind == TriggerAggregateKind::avg) count = sum / count;
    if (a.kind == TriggerAggregateKind::min) count = least;
    if (a.kind == TriggerAggregateKind::max) count = most;
    return BruteValues::holds(a.op, count, a.bound.d);
  }

  bool absent_between(size_t armed, size_t upto, const std::string& key) const {
    for (size_t i = armed + 1; i <= upto && i < events_.size(); ++i)
      if (belongs(events_[i].event, key) && is_any(spec_.absent, events_[i].event)) return true;
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
      const size_t armed = *part.armed;
      const bool broken = n > 0 && absent_between(armed, n - 1, key);
      part.armed.reset();
      if (broken || !is_time(spec_.during, deadline)) continue;
      part.barrier_time = deadline;
      fire(deadline, n ? events_[n - 1].event.seq : 0, events_[armed].event);
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

  // `by`: the event whose key the limits are about.
  void fire(int64_t ts, uint64_t seq, const Event& by) {
    auto& once = once_[values_.key(spec_.once_per.key, by)];
    auto& cooldown = cooldown_[values_.key(spec_.cooldown_per.key, by)];
    auto& rate = rate_[values_.key(spec_.rate_per.key, by)];
    const auto most = static_cast<size_t>(spec_.rate);
    if (spec_.once && !once.empty()) return;
    if (spec_.cooldown_us && !cooldown.empty() && ts - cooldown.back() < spec_.cooldown_us) return;
    if (most && rate.size() >= most && ts - rate[rate.size() - most] < spec_.rate_us) return;
    for (auto* times : {&once, &cooldown, &rate}) times->push_back(ts);
    fired_.push_back({ts, seq});
  }

  const TriggerSpec& spec_;
  const Catalog& catalog_;
  const BruteValues values_;
  const std::vector<Recorded>& events_;
  size_t first_;
  std::vector<size_t> scope_;              // events of the key that is looked at
  mutable std::optional<int64_t> within_;  // of the pattern that is tried
  std::map<std::string, Part> parts_;
  std::map<std::string, bool> states_;
  std::map<std::string, std::vector<int64_t>> once_, cooldown_, rate_;
  std::vector<Fired> fired_;
};

}  // namespace walle::stream::testing
