// All triggers of a device against its event stream: add, remove, step, advance time, snapshot.
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
#include <tuple>

#include "stream/match/aggregate_trigger.h"
#include "stream/match/firing.h"
#include "stream/match/keyed_limit.h"
#include "stream/match/local_time.h"
#include "stream/match/partitions.h"
#include "stream/match/trie.h"

namespace walle::stream {

// Values kept per by(field) scope: a day's items and contacts of one person (the largest of the public logs
// that tests replay has 3,067 in a day), in less than a megabyte for a trigger of a few steps.
inline constexpr size_t kDefaultKeys = 4096;
inline constexpr size_t kMostKeys = 1 << 20;
// Page instances kept: nested ones number 16 at most, closed ones stay only while an absence waits in them.
inline constexpr size_t kDefaultPageInstances = 256;
// What all keys together may come to take: more is refused when a trigger is added, not when keys come.
inline constexpr size_t kDefaultKeyBytes = size_t{64} << 20;

struct MatcherOptions {
  size_t queue_capacity = 256;                 // firings, 12 KB: far more than a task manager leaves waiting
  int64_t utc_offset_us = 0;                   // of local time, for `daily` and `during`
  std::vector<UtcOffset> offset_changes = {};  // ... and from when on it is another
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
  // Event time has reached `ts` without an event: fires timers and absences due before it.
  void advance(int64_t ts, FiringSink& sink);
  void advance(int64_t ts) { advance(ts, queue_); }
  // The earliest time at which advance() may have something to fire.
  std::optional<int64_t> next_deadline() const;

  FiringQueue& queue() { return queue_; }
  MatcherStats stats() const;
  TriggerStats stats_of(uint16_t id) const;
  // No event has come, nor any time, and there are periods that would count from it.
  bool awaits_clock() const { return !started_ && !now_ && periodic_triggers_ > 0; }
  uint64_t states() const { return states_; }
  int64_t last_ts() const { return started_ ? last_ts_ : INT64_MIN; }  // of the newest event
  uint64_t last_seq() const { return last_seq_; }
  bool has_begun() const { return started_ || now_ != 0; }
  int64_t now() const { return now_; }
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
    // Place in the order of adding: in which those that fire at one event are given out. Renumbered when
    // removed triggers have left as many gaps.
    uint16_t order = 0;
    uint16_t local = 0, extra = kNone, absence = kNone;
    uint16_t group : 13 = 0, live : 1 = 0, every : 1 = 0;
  };
  static constexpr size_t kMaxGroups = 1u << 13;  // device, page and 8,190 by(field) scopes
  static constexpr int64_t kNever = INT64_MIN;    // the time of a firing that never was
  // What keys can say before the first event, so that a past may be taken over: 100 years of 570.
  static constexpr int64_t kBeforeUs = 100 * kMaxDurationUs;
  // Beyond what is needed now, so that not every trigger added grows the heap.
  static constexpr size_t kSpareTimers = 16;
  struct PerKey {  // `once per item`
    CompiledKey key;
    KeyedLimit limit;
  };
  static constexpr size_t kMaxPerKey = 3;  // once, cooldown and rate
  using LimitKeys = std::array<uint64_t, kMaxPerKey>;
  struct Extra {  // limits, state guards, aggregates: few triggers have them
    std::vector<StateGuard> when = {};
    bool once = false;
    bool fired = false;
    int64_t cooldown_us = 0;
    int64_t last_fire = 0;
    int64_t rate_us = 0;
    uint64_t suppressed = 0;
    std::vector<int64_t> recent = {};  // ring of the last `rate` firing times
    size_t next = 0;
    // Of a trigger with `every` and several variants: once per event and partition.
    uint64_t last_match = 0;
    const void* last_partition = nullptr;
    std::vector<PerKey> per_key = {};
    std::vector<DaySpan> during = {};
    std::unique_ptr<AggregateTrigger> aggregate = {};
    uint16_t cells = kNone;  // of the aggregate
    TimerKind timer = TimerKind::none;
    int64_t timer_us = 0;
  };
  struct Timer {
    int64_t deadline;
    uint32_t order;  // of adding
    uint32_t
        tie;  // of several keys with one deadline: from the key, since rows are other ones after a restart
    uint32_t partition;  // kNoPartition for a timer trigger
    uint16_t trigger;
    friend bool operator>(const Timer& a, const Timer& b) {
      return std::tie(a.deadline, a.order, a.tie, a.partition) >
             std::tie(b.deadline, b.order, b.tie, b.partition);
    }
  };
  struct Absence {
    int64_t for_us = 0;
    uint16_t guard = kNone, trigger = kNone;
    uint16_t keys = kNone;   // cells: keys of limits of the event that armed it
    uint16_t place = kNone;  // in the rows of its scope's partitions
  };
  struct Evicted {
    uint32_t count = 0, at = 0;  // `at`: number of the last eviction that counted
  };
  struct Done {  // a match that ended at the current event
    uint64_t start = 0;
    uint32_t partition = 0;
    uint16_t trigger = 0;
  };

  // Of an event behind the first.
  uint64_t next_key(int64_t ts) {
    // Time 1, number 0 is the first microsecond: a key is never 0. A microsecond with more than 1,024 events
    // runs over into the next one.
    const uint64_t at = static_cast<uint64_t>(std::max<int64_t>(ts - base_ + 1, 1)) << kKeyShift;
    return key_ = std::max(at, key_ + 1);
  }
  void begin(int64_t ts);
  struct Ended;
  void step_any(const Event& e, FiringSink& sink);
  void learn_plain();
  int64_t time_of(uint64_t key) const { return base_ + static_cast<int64_t>(key >> kKeyShift) - 1; }
  uint64_t key_ceiling(int64_t ts) const {
    return (static_cast<uint64_t>(ts - base_ + 1) << kKeyShift) | ((1u << kKeyShift) - 1);
  }
  Result<uint16_t> group_for(const CompiledTrigger& t);
  std::vector<ResolvedStep> resolve(const std::vector<CompiledStep>& chain,
                                    const std::vector<uint16_t>& predicates, uint64_t salt) const;
  std::vector<CompiledAtom> resolve(const std::vector<CompiledAtom>& atoms,
                                    const std::vector<uint16_t>& predicates) const;
  std::vector<uint16_t> intern_predicates(const CompiledTrigger& t);
  Partitions partitions_of(Scope scope, const std::string& by) const;
  void fit_partitions(Group& g);
  void forget_free_numbers(Group& g);
  Status check_room(const Group& g) const;
  uint16_t add_extra(const CompiledTrigger& t);
  void drop_absence(Group& g, uint16_t absence);
  Status add_to_trie(Group& g, const CompiledTrigger& t, uint16_t local, uint16_t id, Hot& hot);
  template <class Visit>
  void visit_partitions(Group& g, const Event& e, EventKind kind, Visit&& visit);
  void drop_cells(Group& g, uint16_t first);
  Status take_cells(Group& g, const CompiledTrigger& t, Extra& x, uint16_t absence);
  Partition* partition_for(Group& g, uint64_t wanted, uint64_t outer);
  Partition* take_row(Group& g, uint64_t key);
  Partition& oldest_partition(Group& g);
  void end_broken_waits(Group& g, Partition& p);
  void evict(Group& g, Partition& p);
  bool is_counting(const Partition& p, uint16_t id) const;
  void reserve_timers();
  size_t timers_at_most(bool all_keys) const;
  void complete(Group& g, Partition& p, uint16_t local, uint64_t start, const Event& e, uint64_t key);
  void arm(Group& g, const Absence& a, Partition& p, uint64_t start, uint64_t key, const LimitKeys& keys);
  LimitKeys limit_keys(uint16_t extra, const Event& e) const;
  bool is_time(const Extra& x, int64_t ts) const;
  bool states_allow(const Extra& x) const;
  bool is_held(const Extra& x, int64_t ts, const LimitKeys& keys) const;
  void note_firing(Extra& x, int64_t ts, const LimitKeys& keys);
  bool passes(uint16_t id, int64_t ts, const LimitKeys& keys);
  void give(uint16_t id, uint64_t seq, int64_t ts, int64_t start_ts, const Partition* p);
  void put_done(const Done& d) {
    // There is room for all triggers that may end with the event; of several keys that it belongs to, each
    // may fire.
    stats_.row_pages += done_.size() == done_.capacity();
    done_.push_back(d);
  }
  uint64_t key_of(const Done& d) const;
  void give_done(const Event& e);
  bool give_by_place(const Event& e);
  void give_one(const Done& d, const Event& e);
  void take_order(uint16_t id);
  void renumber();
  void count_ends(const CompiledTrigger& t, int change);
  void fire_due(int64_t before);
  void fire_timer(const Timer& t, int64_t before);
  void push_timer(const Timer& t);
  void start_period(uint16_t id, int64_t deadline);
  void wait_for(const Partition& p, uint32_t number, uint16_t trigger, int64_t deadline);
  void drop_timers(uint16_t trigger);
  void rewind_idle();
  int64_t next_period(const Extra& x, int64_t after) const;
  int64_t last_period(const Extra& x, int64_t before) const;
  void start_timer(uint16_t id, int64_t now);
  void start_periods();
  void take_clock(const Matcher& past);
  void take_limits(uint16_t mine, const Matcher& past, uint16_t theirs);
  void learn_kinds();
  void update_states(const Event& e);

  const Catalog& catalog_;
  MatcherOptions options_;
  LocalTime local_;
  PredicateMemo memo_;
  std::vector<EventKind> kinds_;  // by event: beside each other, unlike the declarations
  std::vector<std::unique_ptr<Group>> groups_;
  // The device's scope, where no other has triggers and its trie is plain: then a step looks no further.
  Group* plain_ = nullptr;
  std::vector<Hot> hot_;
  std::vector<uint64_t> ended_;        // a bit for each place: a match of its trigger ended at this event ...
  std::vector<uint64_t> ended_words_;  // ... and for each word of these: some did
  std::vector<uint16_t> ended_at_;     // ... which is done_[ended_at_[place]]
  uint32_t next_order_ = 0;
  std::vector<uint16_t> ends_;  // triggers whose last step is any event, then by event
  std::vector<Done> done_;      // of the current event, in the order in which matches ended
  std::vector<uint16_t> free_triggers_;
  std::vector<Extra> extras_;
  std::vector<uint16_t> free_extras_;
  std::vector<Absence> absences_;
  std::vector<uint16_t> free_absences_;
  std::vector<Timer> timers_;                       // a heap, earliest first
  std::vector<std::pair<int64_t, uint16_t>> idle_;  // by idle time; fired ones lie before idle_next_
  size_t idle_next_ = 0;
  FiringQueue queue_;
  FiringSink* sink_ = nullptr;  // of the step that runs
  MatcherStats stats_;
  uint32_t evictions_ = 0;  // of keys, whether or not something was under way in them
  uint64_t states_ = 0;
  int64_t base_ = 0;  // from which keys count
  bool started_ = false;
  bool has_base_ = false;  // before the first event: another matcher's
  uint64_t key_ = 0;       // of the newest event
  uint64_t last_seq_ = 0;
  int64_t last_ts_ = 0;  // newest event
  int64_t now_ = 0;      // newest event or advance()
  size_t live_triggers_ = 0;
  size_t periodic_triggers_ = 0;  // `every` and `daily`
};

}  // namespace walle::stream
