// The matcher's time: trailing absences, periodic, daily and idle triggers.
//
// A heap instead of a hierarchical wheel: there is at most one entry per timer trigger or
// armed absence, an event pays one comparison with the earliest deadline, and equal
// deadlines fire in one fixed order, which replay needs.
#include <algorithm>
#include <functional>

#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"
#include "stream/trigger/day_span.h"

namespace walle::stream {

namespace {
// Rounds down for times before 1970 too, which a test's clock may give.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
}  // namespace

void Matcher::push_timer(const Timer& t) {
  timers_.push_back(t);
  std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
}

void Matcher::drop_timers(uint16_t trigger) {
  std::erase_if(timers_, [&](const Timer& t) { return t.trigger == trigger; });
  // Linear, like the erasing before it; dropping happens when a task is removed.
  std::make_heap(timers_.begin(), timers_.end(), std::greater<>());
}

// To the first idle time that has not passed since the newest event.
void Matcher::rewind_idle() {
  idle_next_ = 0;
  while (idle_next_ < idle_.size() && last_ts_ + idle_[idle_next_].first < now_) ++idle_next_;
}

// The first due time after `after`: periods count from 1970, days in local time. A day's time that is skipped
// in spring is due when the clock is set forward, one that comes twice in autumn the first time.
int64_t Matcher::next_period(const Extra& x, int64_t after) const {
  if (x.timer == TimerKind::every) return (floor_div(after, x.timer_us) + 1) * x.timer_us;
  // A day early, since the clock may have been set back over midnight.
  for (int64_t day = floor_div(local_.of(after), kDayUs) - 1;; ++day)
    if (const int64_t due = local_.utc_of(day * kDayUs + x.timer_us); due > after) return due;
}

// The last due time before `before`.
int64_t Matcher::last_period(const Extra& x, int64_t before) const {
  if (x.timer == TimerKind::every) return floor_div(before - 1, x.timer_us) * x.timer_us;
  for (int64_t day = floor_div(local_.of(before), kDayUs) + 1;; --day)
    if (const int64_t due = local_.utc_of(day * kDayUs + x.timer_us); due < before) return due;
}

void Matcher::start_timer(uint16_t id, int64_t now) {
  const Extra& x = extras_[hot_[id].extra];
  if (x.timer == TimerKind::idle) {
    // Sorted by idle time: since all idle timers count from the same event, they fall due in this order and
    // one index says how many have.
    const std::pair<int64_t, uint16_t> entry{x.timer_us, id};
    const auto at = idle_.insert(std::upper_bound(idle_.begin(), idle_.end(), entry), entry);
    if (static_cast<size_t>(at - idle_.begin()) < idle_next_) ++idle_next_;
    return;
  }
  timers_.reserve(timers_.size() + hot_.size() + kSpareTimers);
  if (started_ || now_) push_timer({next_period(x, now), orders_[id], id, kNone});
}

void Matcher::advance(int64_t ts) {
  if (!started_ && !now_) {  // time begins: timers added before get their first deadline
    now_ = last_ts_ = ts;
    for (size_t id = 0; id < hot_.size(); ++id) {
      if (!hot_[id].live || hot_[id].extra == kNone) continue;
      const Extra& x = extras_[hot_[id].extra];
      if (x.timer == TimerKind::every || x.timer == TimerKind::daily)
        push_timer({next_period(x, ts), orders_[id], static_cast<uint16_t>(id), kNone});
    }
  }
  // Time does not go back; a caller whose clock does is ignored until it has caught up.
  if (ts < now_) return;
  fire_due(ts);
  now_ = ts;
}

// Everything due strictly before `before`, in order of deadline: an
// event at the very deadline still counts against it.
void Matcher::fire_due(int64_t before) {
  for (;;) {
    const bool idle = idle_next_ < idle_.size() && last_ts_ + idle_[idle_next_].first < before;
    const bool timer = !timers_.empty() && timers_[0].deadline < before;
    if (!idle && !timer) return;
    // One at a time: due times decide their order.
    // Of equal deadlines the idle one first: some order must be fixed, or replays would differ.
    if (idle && (!timer || last_ts_ + idle_[idle_next_].first <= timers_[0].deadline)) {
      const auto [after, id] = idle_[idle_next_++];
      const Extra& x = extras_[hot_[id].extra];
      if (states_allow(x) && is_time(x, last_ts_ + after))
        fire(id, last_seq_, last_ts_ + after, last_ts_, {}, 0);
      deliver();
      continue;
    }
    const Timer t = timers_[0];
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    timers_.pop_back();
    fire_timer(t, before);
    deliver();
  }
}

void Matcher::fire_timer(const Timer& t, int64_t before) {
  const Hot& hot = hot_[t.trigger];
  if (t.partition == kNone) {
    const Extra& x = extras_[hot.extra];
    // Periods missed while the device was off fire once, for the last of them.
    const int64_t last = last_period(x, before);
    push_timer({next_period(x, last), t.order, t.trigger, kNone});
    if (states_allow(x) && is_time(x, last)) fire(t.trigger, last_seq_, last, last, {}, 0);
    return;
  }
  Absence& a = absences_[hot.absence];
  Pending& pending = a.pending[t.partition];
  Partition& p = groups_[hot.group]->partitions[t.partition];
  pending.queued = false;
  if (!pending.armed) return;
  const int64_t deadline = time_of(pending.armed) + a.for_us;
  if (deadline > t.deadline) {  // armed anew since this timer was set
    pending.queued = true;
    push_timer({deadline, t.order, t.trigger, t.partition});
    return;
  }
  const bool broken = p.guards[a.guard] > pending.armed;
  const uint64_t start = pending.start;
  pending.armed = 0;
  if (broken || (hot.extra != kNone && !is_time(extras_[hot.extra], deadline))) return;
  p.barriers[hot.local] = key_ceiling(deadline);
  LimitKeys keys{};
  if (a.keys != kNone) std::copy_n(p.guards.begin() + a.keys, keys.size(), keys.begin());
  fire(t.trigger, last_seq_, deadline, time_of(start), keys,
       groups_[hot.group]->scope == Scope::by ? p.key : 0);
}

}  // namespace walle::stream
