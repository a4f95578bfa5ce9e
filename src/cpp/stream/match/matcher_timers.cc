// The matcher's time: trailing absences, periodic, daily and idle triggers.
#include <algorithm>

#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"
#include "stream/match/period.h"

namespace walle::stream {

// Of an absence. Differences of low bits suffice: page instances and sessions are numbers, other keys hashes
// whose bit 0 is always set.
void Matcher::wait_for(const Partition& p, uint32_t number, uint16_t trigger, int64_t deadline) {
  timers_.push({.deadline = deadline,
                .order = hot_[trigger].order,
                .tie = static_cast<uint32_t>(p.key >> (groups_[hot_[trigger].group]->scope == Scope::by)),
                .partition = number,
                .trigger = trigger});
}

void Matcher::start_period(uint16_t id, int64_t deadline) {
  timers_.push(
      {.deadline = deadline, .order = hot_[id].order, .tie = 0, .partition = kNoPartition, .trigger = id});
}

// Of all triggers that have a period and wait for none.
void Matcher::start_periods() {
  if (!clock_.has_begun()) return;
  std::vector<bool> waits(hot_.size());
  for (const Timer& t : timers_.all()) waits[t.trigger] = waits[t.trigger] || t.partition == kNoPartition;
  for (size_t id = 0; id < hot_.size(); ++id) {
    if (waits[id] || !hot_[id].live || hot_[id].extra == kNone) continue;
    const Extra& x = extras_[hot_[id].extra];
    if (x.has_period())
      start_period(static_cast<uint16_t>(id), next_due(x.timer, x.timer_us, clock_.now, local_of(x)));
  }
}

void Matcher::set_local(const LocalTime& local) {
  local_ = local;
  for (size_t id = 0; id < hot_.size(); ++id) {
    if (!hot_[id].live || hot_[id].extra == kNone) continue;
    const Extra& x = extras_[hot_[id].extra];
    if (x.timer == TimerKind::daily && !x.local) timers_.drop(static_cast<uint16_t>(id));
  }
  start_periods();
}

void Matcher::start_timer(uint16_t id, int64_t now) {
  const Extra& x = extras_[hot_[id].extra];
  if (x.timer == TimerKind::idle) return idle_.add(x.timer_us, id);
  ++periodic_triggers_;
  reserve_timers();
  if (clock_.has_begun()) start_period(id, next_due(x.timer, x.timer_us, now, local_of(x)));
}

// How many may wait at once: one of each timer trigger, one of an absence in each row of its scope.
size_t Matcher::timers_at_most(bool all_keys) const {
  size_t n = periodic_triggers_;
  for (const auto& g : groups_)
    n += g->absence_ids.size() * (all_keys ? g->partitions.most() : g->partitions.size());
  return n;
}

// An event arms absences and pushes periods, and allocates nothing for that.
void Matcher::reserve_timers() { timers_.reserve(timers_at_most(false)); }

// When a timer has something to do; none for an absence that is broken or no longer waits.
std::optional<int64_t> Matcher::due_time(const Timer& t) const {
  if (t.partition == kNoPartition) return t.deadline;
  const Hot& hot = hot_[t.trigger];
  const Absence& a = absences_[hot.absence];
  const Partition& p = groups_[hot.group]->partitions[t.partition];
  const Pending& pending = p.pending[a.place];
  if (!pending.armed || p.guards[a.guard] > pending.armed) return std::nullopt;
  return clock_.time_of(pending.armed) + a.for_us;
}

// Old timers stand for absences that were armed anew since, and which of them there are is not the same
// behind a restart: an advance that went by them would record a timer event that another run does not.
std::optional<int64_t> Matcher::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  std::optional<int64_t> at = due_time(timers_.earliest());
  if (at == timers_.earliest().deadline) return at;
  for (const Timer& t : timers_.all())
    if (const auto due = due_time(t); due && (!at || *due < *at)) at = due;
  return at;
}

std::optional<int64_t> Matcher::next_deadline() const {
  std::optional<int64_t> at = next_timer();
  if (idle_.any_left() && clock_.has_begun()) {
    const int64_t idle = clock_.last_ts + idle_.next_us();
    at = at ? std::min(*at, idle) : idle;
  }
  // Deadlines are strict: what is due at a time fires behind it.
  return at ? std::optional(*at + 1) : std::nullopt;
}

void Matcher::advance(int64_t ts, FiringSink& sink) {
  sink_ = &sink;
  if (!clock_.has_begun()) {  // time begins: timers added before get their first deadline
    clock_.now = clock_.last_ts = ts;
    start_periods();
  }
  // Time does not go back; a caller whose clock does is ignored until it has caught up.
  if (ts < clock_.now) return;
  fire_due(ts);
  clock_.now = ts;
}

// Everything due strictly before `before`, in order of deadline: an
// event at the very deadline still counts against it.
void Matcher::fire_due(int64_t before) {
  for (;;) {
    const bool idle = idle_.any_left() && clock_.last_ts + idle_.next_us() < before;
    const bool timer = !timers_.empty() && timers_.earliest().deadline < before;
    if (!idle && !timer) return;
    // Of equal deadlines the idle one first: some order must be fixed, or replays would differ.
    if (idle && (!timer || clock_.last_ts + idle_.next_us() <= timers_.earliest().deadline)) {
      fire_idle();
      continue;
    }
    const Timer t = timers_.pop();
    if (t.partition == kNoPartition)
      fire_period(t, before);
    else
      fire_absence(t);
  }
}

void Matcher::fire_idle() {
  const int64_t ts = clock_.last_ts + idle_.next_us();
  const uint16_t id = idle_.take_next();
  const Extra& x = extras_[hot_[id].extra];
  if (states_allow(x) && is_time(x, ts) && passes(id, ts, {}))
    give(id, ts, {.ts = clock_.last_ts}, {}, nullptr);
}

void Matcher::fire_period(const Timer& t, int64_t before) {
  const Extra& x = extras_[hot_[t.trigger].extra];
  // Periods missed while the device was off fire once, for the last of them.
  const int64_t last = last_due(x.timer, x.timer_us, before, local_of(x));
  start_period(t.trigger, next_due(x.timer, x.timer_us, last, local_of(x)));
  if (states_allow(x) && is_time(x, last) && passes(t.trigger, last, {}))
    give(t.trigger, last, {.ts = last}, {}, nullptr);
}

void Matcher::fire_absence(const Timer& t) {
  const Hot& hot = hot_[t.trigger];
  const Absence& a = absences_[hot.absence];
  Partitions& partitions = groups_[hot.group]->partitions;
  Partition& p = partitions[t.partition];
  Pending& pending = p.pending[a.place];
  pending.queued = false;
  if (!pending.armed) return;
  const int64_t deadline = clock_.time_of(pending.armed) + a.for_us;
  if (deadline > t.deadline) {  // armed anew since this timer was set
    pending.queued = true;
    wait_for(p, t.partition, t.trigger, deadline);
    return;
  }
  const bool broken = p.guards[a.guard] > pending.armed;
  const Pending was = pending;
  pending.armed = 0;
  partitions.end_wait(p);
  if (broken || (hot.extra != kNone && !is_time(extras_[hot.extra], deadline))) return;
  p.barriers[hot.local] = clock_.key_ceiling(deadline);
  LimitKeys keys{};
  if (a.keys != kNone) std::copy_n(p.guards + a.keys, keys.size(), keys.begin());
  if (passes(t.trigger, deadline, keys))
    give(t.trigger, deadline, clock_.place_of(was.start), clock_.place_of(was.armed), &p);
}

}  // namespace walle::stream
