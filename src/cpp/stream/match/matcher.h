// Matcher: all triggers of a device against its event stream: add, remove, step, advance time, snapshot.
//
// A trigger is a number here; names and texts belong to TriggerSet. Each scope has one
// trie (stream/match/trie.h): the device, sessions, page instances, and each by(...). step()
// allocates nothing but a page of rows for keys that are new (stream/match/partitions.h), up
// to what memory_bytes_at_most() told before the first event. Changes take effect between two
// events: what was under way for other triggers goes on, and a new trigger only counts matches
// that start behind its adding. One thread; every firing goes to the sink of the step, or
// into a bounded queue.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "stream/match/aggregate_trigger.h"
#include "stream/match/firing.h"
#include "stream/match/firing_order.h"
#include "stream/match/idle_timers.h"
#include "stream/match/local_time.h"
#include "stream/match/match_clock.h"
#include "stream/match/numbered.h"
#include "stream/match/partitions.h"
#include "stream/match/timer_heap.h"
#include "stream/match/trie.h"
#include "stream/match/trigger_limits.h"

namespace walle::stream {

// Values kept per by(field) scope: a day's items and contacts of one person (the largest of the public logs
// that tests replay has 3,067 in a day), in less than a megabyte for a trigger of a few steps.
inline constexpr size_t kDefaultKeys = 4096;
inline constexpr size_t kMostKeys = kMaxScopeKeys;
// Page instances kept: nested ones number 16 at most, closed ones stay only while an absence waits in them.
inline constexpr size_t kDefaultPageInstances = 256;
// What all keys together may come to take: more is refused when a trigger is added, not when keys come.
inline constexpr size_t kDefaultKeyBytes = size_t{64} << 20;

struct MatcherOptions {
  size_t queue_capacity = 256;    // firings, 12 KB: far more than a task manager leaves waiting
  LocalTime local = LocalTime();  // for `daily` and `during`
  size_t keys = kDefaultKeys;
  std::vector<std::pair<std::string, size_t>> keys_of = {};  // by(...) scopes with a number of their own
  size_t page_instances = kDefaultPageInstances;
  size_t key_bytes = kDefaultKeyBytes;
};
Status check_options(const MatcherOptions& options);

struct MatcherStats {
  uint64_t events = 0, firings = 0;
  uint64_t suppressed = 0;  // matches held back by once, cooldown or rate
  // by(field) or page partitions given to a newer key while they held partial matches or waiting absences.
  uint64_t evicted_keys = 0;
  // Keys of limits (`once per item`) and numbers of sums given up for newer ones while they still counted.
  uint64_t evicted_limits = 0;
  // Allocated by steps: pages of rows for new keys, and room for more firings at one event than ever before.
  uint64_t row_pages = 0;
};

struct TriggerStats {  // since the trigger was added
  uint32_t fired = 0;
  uint64_t suppressed = 0;      // by once, cooldown or rate
  uint64_t evicted = 0;         // keys that gave way while this trigger had something under way in them
  int64_t last_ts = INT64_MIN;  // of its newest firing
};

// What one scope with keys takes, before any of them has come and at most.
struct KeyPrice {
  Scope scope = Scope::by;
  std::string by;   // of a by(field) scope
  size_t keys = 0;  // kept at most
  size_t bytes_per_key = 0, bytes = 0;
};

class Matcher {
 public:
  explicit Matcher(const Catalog& catalog, MatcherOptions options = {});
  ~Matcher();

  Result<uint16_t> add(const CompiledTrigger& trigger);
  // The same trigger that add() got.
  void remove(uint16_t id, const CompiledTrigger& trigger);

  // Every firing goes to `sink`. Precondition: event.event is an id of the catalogue, event.ts is not below
  // the previous event's (the event log repairs times).
  void step(const Event& event, FiringSink& sink);
  void step(const Event& event) { step(event, queue_); }
  // Local time is another from now on, of triggers without one of their own: what is due by the day falls
  // due anew.
  void set_local(const LocalTime& local);
  // Event time has reached `ts` without an event: fires timers and absences due before it.
  void advance(int64_t ts, FiringSink& sink);
  void advance(int64_t ts) { advance(ts, queue_); }
  // The earliest time at which advance() may have something to fire.
  std::optional<int64_t> next_deadline() const;

  FiringQueue& queue() { return queue_; }
  MatcherStats stats() const;
  TriggerStats stats_of(uint16_t id) const;
  // No event has come, nor any time, and there are periods that would count from it.
  bool awaits_clock() const { return !clock_.has_begun() && periodic_triggers_ > 0; }
  uint64_t states() const { return states_; }
  int64_t last_ts() const { return clock_.started ? clock_.last_ts : INT64_MIN; }  // of the newest event
  uint64_t last_seq() const { return clock_.last_seq; }
  bool has_begun() const { return clock_.has_begun(); }
  int64_t now() const { return clock_.now; }
  size_t trigger_count() const { return live_triggers_; }
  size_t node_count() const;
  size_t edge_count() const;
  // Everything the matcher has allocated. Known before deployment: build a matcher with the tasks and ask it.
  size_t memory_bytes() const;
  // The same when every scope has all its keys and every absence waits in each.
  size_t memory_bytes_at_most() const;
  std::vector<KeyPrice> key_prices() const;

  // For triggers that are to count matches from before they were added: for_past() makes a matcher that gets
  // them alone and steps the same events up to the newest one here; take_past() takes over what it holds for
  // them. Nothing changes for other triggers. Error: the two have not come to one point.
  struct PastTrigger {
    uint16_t here = 0, past = 0;
  };
  std::unique_ptr<Matcher> for_past() const;
  Status take_past(const Matcher& past, std::span<const PastTrigger> triggers);

  // The state of matching, without the triggers: restore() expects a matcher with the same triggers (in any
  // order) and returns how many entries of the snapshot had no counterpart.
  std::string snapshot() const;
  Result<size_t> restore(std::string_view bytes);

 private:
  struct Group;
  class SnapshotWriter;  // stream/match/matcher_snapshot.cc
  class SnapshotReader;
  class PastGroup;  // stream/match/matcher_past.cc
  // What completing a match and firing read and write: half a cache line.
  struct Hot {
    uint64_t fingerprint = 0;
    int64_t last_fired = INT64_MIN;
    uint32_t fired = 0;
    uint16_t order = 0;  // its place (FiringOrder)
    uint16_t local = 0, extra = kNone, absence = kNone;
    uint16_t group : 13 = 0, live : 1 = 0, every : 1 = 0;
  };
  static constexpr size_t kMaxGroups = 1u << 13;  // device, page and 8,190 by(field) scopes
  struct Extra {  // limits, state guards, aggregates, timers: few triggers have them
    TriggerLimits limits = {};
    std::vector<StateGuard> when = {};
    std::vector<DaySpan> during = {};
    // Of a trigger with `every` and several variants: once per event and partition.
    uint64_t last_match = 0;
    const void* last_partition = nullptr;
    std::unique_ptr<AggregateTrigger> aggregate = {};
    uint16_t cells = kNone;  // of the aggregate
    TimerKind timer = TimerKind::none;
    int64_t timer_us = 0;
    std::shared_ptr<const LocalTime> local = {};  // of its own

    bool has_period() const { return timer == TimerKind::every || timer == TimerKind::daily; }
    size_t memory_bytes() const;
  };
  struct Absence {
    int64_t for_us = 0;
    uint16_t guard = kNone, trigger = kNone;
    uint16_t keys = kNone;   // cells: keys of limits of the event that armed it
    uint16_t place = kNone;  // in the rows of its scope's partitions
  };
  // An aggregate that also takes in what has none of its scope's fields.
  struct Counted {
    uint16_t trigger = kNone;
    std::vector<CompiledAtom> atoms = {};
  };
  struct Evicted {
    uint32_t count = 0, at = 0;  // `at`: number of the last eviction that counted
  };
  using LimitKeys = TriggerLimits::Keys;

  // matcher.cc
  struct Ended;
  void step_in(Group& g, Partition& p, const Event& e, uint16_t page, bool begins);
  void count_in(Group& g, Partition& p, const Event& e, uint16_t page);
  void step_in_keys(Group& g, const Event& e, uint16_t page, EventKind kind);
  void complete(Group& g, Partition& p, uint16_t local, uint64_t start, const Event& e, uint64_t key);
  void arm(Group& g, const Absence& a, Partition& p, uint64_t start, uint64_t key, const LimitKeys& keys);
  LimitKeys limit_keys(const Hot& hot, const Event& e) const;
  const LocalTime& local_of(const Extra& x) const { return x.local ? *x.local : local_; }
  bool is_time(const Extra& x, int64_t ts) const;
  bool states_allow(const Extra& x) const;
  bool passes(uint16_t id, int64_t ts, const LimitKeys& keys);
  void give(uint16_t id, int64_t ts, const EventPlace& start, const EventPlace& last, const Partition* p);
  void put_ended(const EndedMatch& m) { stats_.row_pages += order_.put(m); }
  void give_ended(const Event& e);
  void learn_kinds();
  void update_states(const Event& e);
  // matcher_add.cc
  Result<uint16_t> group_for(const CompiledTrigger& t);
  uint16_t add_extra(const CompiledTrigger& t);
  void drop_absence(Group& g, uint16_t absence);
  Status add_to_trie(Group& g, const CompiledTrigger& t, uint16_t local, uint16_t id, Hot& hot);
  void drop_counted(Group& g, uint16_t trigger);
  void drop_cells(Group& g, uint16_t first);
  Status take_cells(Group& g, const CompiledTrigger& t, Extra& x, uint16_t absence);
  void renumber();
  // matcher_keys.cc
  Partitions partitions_of(Scope scope, const std::string& by) const;
  void fit_partitions(Group& g);
  void forget_free_numbers(Group& g);
  Status check_room(const Group& g) const;
  Partition* partition_for(Group& g, uint64_t wanted, uint64_t outer);
  Partition* take_row(Group& g, uint64_t key);
  Partition& oldest_partition(Group& g);
  void end_broken_waits(Group& g, Partition& p);
  void evict(Group& g, Partition& p);
  bool is_counting(const Partition& p, uint16_t id) const;
  // matcher_timers.cc
  void reserve_timers();
  size_t timers_at_most(bool all_keys) const;
  std::optional<int64_t> due_time(const Timer& t) const;
  std::optional<int64_t> next_timer() const;
  void fire_due(int64_t before);
  void fire_idle();
  void fire_period(const Timer& t, int64_t before);
  void fire_absence(const Timer& t);
  void start_period(uint16_t id, int64_t deadline);
  void start_periods();
  void start_timer(uint16_t id, int64_t now);
  void wait_for(const Partition& p, uint32_t number, uint16_t trigger, int64_t deadline);
  // matcher_past.cc
  void take_clock(const Matcher& past);
  void take_limits(uint16_t mine, const Matcher& past, uint16_t theirs);

  const Catalog& catalog_;
  MatcherOptions options_;
  LocalTime local_;
  MatchClock clock_;
  PredicateMemo memo_;
  std::vector<EventKind> kinds_;  // by event: beside each other, unlike the declarations
  std::vector<std::unique_ptr<Group>> groups_;
  Numbered<Hot> hot_;
  Numbered<Extra> extras_;
  Numbered<Absence> absences_;
  FiringOrder order_;
  TimerHeap timers_;
  IdleTimers idle_;
  FiringQueue queue_;
  FiringSink* sink_ = nullptr;  // of the step that runs
  MatcherStats stats_;
  uint32_t evictions_ = 0;  // of keys, whether or not something was under way in them
  uint64_t states_ = 0;
  size_t live_triggers_ = 0;
  size_t periodic_triggers_ = 0;  // `every` and `daily`
};

}  // namespace walle::stream
