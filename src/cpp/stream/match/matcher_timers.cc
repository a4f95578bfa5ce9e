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

// Of an absence. Differences of low bits suffice: page instances and sessions are numbers, other keys hashes
// whose bit 0 is always set.
void Matcher::wait_for(const Partition& p, uint32_t number, uint16_t trigger, int64_t deadline) {
  push_timer({.deadline = deadline,
              .order = hot_[trigger].order,
              .tie = static_cast<uint32_t>(p.key >> (groups_[hot_[trigger].group]->scope == Scope::by)),
              .partition = number,
              .trigger = trigger});
}

void Matcher::start_period(uint16_t id, int64_t deadline) {
  push_timer(
      {.deadline = deadline, .order = hot_[id].order, .tie = 0, .partition = kNoPartition, .trigger = id});
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

// Of all triggers that have a period and wait for none.
void Matcher::start_periods() {
  if (!started_ && !now_) return;
  std::vector<bool> waits(hot_.size());
  for (const Timer& t : timers_) waits[t.trigger] = waits[t.trigger] || t.partition == kNoPartition;
  for (size_t id = 0; id < hot_.size(); ++id) {
    if (waits[id] || !hot_[id].live || hot_[id].extra == kNone) continue;
    const Extra& x = extras_[hot_[id].extra];
    if (x.timer == TimerKind::every || x.timer == TimerKind::daily)
      start_period(static_cast<uint16_t>(id), next_period(x, now_));
  }
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
  ++periodic_triggers_;
  reserve_timers();
  if (started_ || now_) start_period(id, next_period(x, now));
}

// How many may wait at once: one of each timer trigger, one of an absence in each row of its scope.
size_t Matcher::timers_at_most(bool all_keys) const {
  size_t n = periodic_triggers_;
  for (const auto& g : groups_)
    n += g->absence_ids.size() * (all_keys ? g->partitions.most() : g->partitions.size());
  return n;
}

// An event arms absences and pushes periods, and allocates nothing for that.
void Matcher::reserve_timers() {
  const size_t needed = timers_at_most(false);
  if (timers_.capacity() >= needed) return;
  timers_.reserve(needed + needed / 4 + kSpareTimers);
}

std::optional<int64_t> Matcher::next_deadline() const {
  std::optional<int64_t> at;
  if (!timers_.empty()) at = timers_[0].deadline;
  if (idle_next_ < idle_.size() && (started_ || now_)) {
    const int64_t idle = last_ts_ + idle_[idle_next_].first;
    at = at ? std::min(*at, idle) : idle;
  }
  // Deadlines are strict: what is due at a time fires behind it.
  return at ? std::optional(*at + 1) : std::nullopt;
}

void Matcher::advance(int64_t ts, FiringSink& sink) {
  sink_ = &sink;
  if (!started_ && !now_) {  // time begins: timers added before get their first deadline
    now_ = last_ts_ = ts;
    start_periods();
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
    // Of equal deadlines the idle one first: some order must be fixed, or replays would differ.
    if (idle && (!timer || last_ts_ + idle_[idle_next_].first <= timers_[0].deadline)) {
      const auto [after, id] = idle_[idle_next_++];
      const Extra& x = extras_[hot_[id].extra];
      if (states_allow(x) && is_time(x, last_ts_ + after) && passes(id, last_ts_ + after, {}))
        give(id, last_seq_, last_ts_ + after, last_ts_, nullptr);
      continue;
    }
    const Timer t = timers_[0];
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    timers_.pop_back();
    fire_timer(t, before);
  }
}

void Matcher::fire_timer(const Timer& t, int64_t before) {
  const Hot& hot = hot_[t.trigger];
  if (t.partition == kNoPartition) {
    const Extra& x = extras_[hot.extra];
    // Periods missed while the device was off fire once, for the last of them.
    const int64_t last = last_period(x, before);
    start_period(t.trigger, next_period(x, last));
    if (states_allow(x) && is_time(x, last) && passes(t.trigger, last, {}))
      give(t.trigger, last_seq_, last, last, nullptr);
    return;
  }
  const Absence& a = absences_[hot.absence];
  Partitions& partitions = groups_[hot.group]->partitions;
  Partition& p = partitions[t.partition];
  Pending& pending = p.pending[a.place];
  pending.queued = false;
  if (!pending.armed) return;
  const int64_t deadline = time_of(pending.armed) + a.for_us;
  if (deadline > t.deadline) {  // armed anew since this timer was set
    pending.queued = true;
    wait_for(p, t.partition, t.trigger, deadline);
    return;
  }
  const bool broken = p.guards[a.guard] > pending.armed;
  const uint64_t start = pending.start;
  pending.armed = 0;
  partitions.end_wait(p);
  if (broken || (hot.extra != kNone && !is_time(extras_[hot.extra], deadline))) return;
  p.barriers[hot.local] = key_ceiling(deadline);
  LimitKeys keys{};
  if (a.keys != kNone) std::copy_n(p.guards + a.keys, keys.size(), keys.begin());
  if (passes(t.trigger, deadline, keys)) give(t.trigger, last_seq_, deadline, time_of(start), &p);
}

}  // namespace walle::stream
