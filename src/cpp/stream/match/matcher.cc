#include "stream/match/matcher.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "base/hash.h"
#include "stream/event/sequencer.h"
#include "stream/match/event_key.h"
#include "stream/match/matcher_group.h"
#include "stream/match/trie_step.h"
#include "stream/match/value_token.h"
#include "stream/trigger/day_span.h"

namespace walle::stream {

namespace {
template <class T>
uint16_t take_free(std::vector<uint16_t>& free, std::vector<T>& all) {
  if (free.empty()) {
    tight::grow_to(all, all.size() + 1);
    return static_cast<uint16_t>(all.size() - 1);
  }
  const uint16_t at = free.back();
  free.pop_back();
  return at;
}

// A free place among a trie's triggers, which is `id`'s now.
uint16_t take_local(std::vector<uint16_t>& ids, uint16_t id) {
  const size_t place = std::find(ids.begin(), ids.end(), kNone) - ids.begin();
  tight::grow_to(ids, place + 1);
  ids[place] = id;
  return static_cast<uint16_t>(place);
}

// What was refused or removed leaves rows no wider.
void drop_last_free(std::vector<uint16_t>& ids) {
  while (!ids.empty() && ids.back() == kNone) ids.pop_back();
}

// Says nothing but what it is: no time that passes, no state of the app.
bool is_ordinary(EventKind kind) { return kind != EventKind::timer && kind != EventKind::app_state; }

// Of several variants, an event may end more than one: with `every`, each would fire.
bool needs_extra(const CompiledTrigger& t) {
  const TriggerSpec& s = t.spec;
  return s.once || s.cooldown_us || s.rate || !t.when.empty() || s.timer != TimerKind::none ||
         !s.during.empty() || s.aggregate.kind != TriggerAggregateKind::none ||
         (s.every && t.variants.size() > 1);
}

}  // namespace

Matcher::Matcher(const Catalog& catalog, MatcherOptions options)
    : catalog_(catalog),
      options_(std::move(options)),
      local_(options_.utc_offset_us, std::move(options_.offset_changes)),
      queue_(options_.queue_capacity) {
  memo_.catalog = &catalog_;
  learn_kinds();
}
Matcher::~Matcher() = default;

void Matcher::begin(int64_t ts) {
  // From a century before the first event on: 54 bits of microseconds last 570 years.
  if (!has_base_) base_ = std::max(ts - kBeforeUs, -kMaxTimeUs);
  started_ = true;
}

Result<uint16_t> Matcher::group_for(const CompiledTrigger& t) {
  const Scope scope = t.spec.scope;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i]->scope == scope && groups_[i]->by == t.by) return static_cast<uint16_t>(i);
  if (groups_.size() == kMaxGroups)
    return resource_error({"by(field) scope number ", groups_.size()},
                          {"at most ", kMaxGroups - 3, " different fields"}, "matcher",
                          "remove tasks or share fields");
  auto g = std::make_unique<Group>(Group{.scope = scope,
                                         .by = t.by,
                                         .by_text = format_key(t.spec.by),
                                         .trie = {},
                                         .trigger_ids = {},
                                         .absence_ids = {},
                                         .evicted = {},
                                         .partitions = partitions_of(scope, format_key(t.spec.by))});
  if (scope == Scope::device) g->partitions.take(0);
  groups_.push_back(std::move(g));
  return static_cast<uint16_t>(groups_.size() - 1);
}

std::vector<CompiledAtom> Matcher::resolve(const std::vector<CompiledAtom>& atoms,
                                           const std::vector<uint16_t>& predicates) const {
  std::vector<CompiledAtom> out = atoms;
  for (CompiledAtom& a : out)
    // From the trigger's own numbering to the matcher's, where equal predicates of all tasks are one.
    if (a.predicate >= 0) {
      a.predicate = a.of(predicates);
      const ValueToken asked = value_token(a.of(memo_.predicates));
      a.value = asked.hash;
      a.value_field = asked.field;
    }
  return out;
}

std::vector<ResolvedStep> Matcher::resolve(const std::vector<CompiledStep>& chain,
                                           const std::vector<uint16_t>& predicates, uint64_t salt) const {
  std::vector<ResolvedStep> out;
  out.reserve(chain.size());
  for (const CompiledStep& s : chain)
    out.push_back({.follow = s.follow,
                   .gap_us = s.gap_us,
                   .least_us = s.least_us,
                   .atoms = resolve(s.atoms, predicates),
                   .guard = resolve(s.guard, predicates),
                   .captures = s.captures,
                   .salt = salt});
  return out;
}

std::vector<uint16_t> Matcher::intern_predicates(const CompiledTrigger& t) {
  std::vector<uint16_t> out;
  out.reserve(t.predicates.size());
  for (const Predicate& p : t.predicates) out.push_back(memo_.intern(p));
  return out;
}

// The chains and the trailing absence of `t`; on an error nothing of it stays.
Status Matcher::add_to_trie(Group& g, const CompiledTrigger& t, uint16_t local, uint16_t id, Hot& hot) {
  // An aggregate asks for its window itself.
  const bool aggregate = t.spec.aggregate.kind != TriggerAggregateKind::none;
  const uint64_t within = key_limit(aggregate ? -1 : t.spec.within_us.value_or(-1));
  const std::vector<uint16_t> predicates = intern_predicates(t);
  size_t added = 0;
  const auto undo = [&](Status s) {
    // Backwards over what succeeded; remove_chain() of a chain that add_chain() refused would remove another
    // task's.
    while (added-- > 0) g.trie.remove_chain(resolve(t.variants[added], predicates, t.fingerprint), local);
    if (hot.absence != kNone) drop_absence(g, hot.absence);
    for (const uint16_t p : predicates) memo_.release(p);
    forget_free_numbers(g);
    return s;
  };
  // It fires, whatever else is, and not again for what started before.
  const bool plain = !t.spec.every && !needs_extra(t) && t.absent.empty();
  for (; added < t.variants.size(); ++added)
    if (Status s =
            g.trie.add_chain(resolve(t.variants[added], predicates, t.fingerprint), local, within, plain);
        !s.ok())
      return undo(std::move(s));
  if (!t.absent.empty()) {
    auto guard = g.trie.add_guard(resolve(t.absent, predicates));
    if (!guard.ok()) return undo(guard.take_error());
    hot.absence = take_free(free_absences_, absences_);
    absences_[hot.absence] = {.for_us = t.spec.absent_us,
                              .guard = *guard,
                              .trigger = id,
                              .place = take_local(g.absence_ids, hot.absence)};
  }
  if (Status s = check_room(g); !s.ok()) return undo(std::move(s));
  return {};
}

// Words of every partition: what an aggregate remembers, and the keys of an absence's limits.
Status Matcher::take_cells(Group& g, const CompiledTrigger& t, Extra& x, uint16_t absence) {
  if (x.aggregate) {
    WALLE_ASSIGN(x.cells, g.trie.take_cells(x.aggregate->cells(), base::mix(t.fingerprint, 1)));
  }
  if (absence == kNone || x.per_key.empty()) return {};
  WALLE_ASSIGN(absences_[absence].keys, g.trie.take_cells(kMaxPerKey, base::mix(t.fingerprint, 2)));
  return {};
}

void Matcher::drop_cells(Group& g, uint16_t first) {
  if (first != kNone) g.trie.release_cells(first);
}

uint16_t Matcher::add_extra(const CompiledTrigger& t) {
  const uint16_t extra = take_free(free_extras_, extras_);
  const TriggerSpec& s = t.spec;
  // What has a key of its own is counted by key alone.
  const bool once = s.once && t.once_per.empty();
  const bool cooldown = s.cooldown_us && t.cooldown_per.empty();
  const bool rate = s.rate && t.rate_per.empty();
  Extra& x = extras_[extra];
  x = {.when = t.when,
       .once = once,
       .cooldown_us = cooldown ? s.cooldown_us : 0,
       .last_fire = kNever,
       .rate_us = rate ? s.rate_us : 0,
       .recent = std::vector<int64_t>(rate ? s.rate : 0, kNever),
       .during = s.during,
       .timer = s.timer,
       .timer_us = s.timer_us};
  if (s.once && !once) x.per_key.push_back({t.once_per, {1, KeyedLimit::kForever, s.once_per.keep}});
  if (s.cooldown_us && !cooldown)
    x.per_key.push_back({t.cooldown_per, {1, s.cooldown_us, s.cooldown_per.keep}});
  if (s.rate && !rate) x.per_key.push_back({t.rate_per, {s.rate, s.rate_us, s.rate_per.keep}});
  if (s.aggregate.kind != TriggerAggregateKind::none) x.aggregate = std::make_unique<AggregateTrigger>(t);
  return extra;
}

Result<uint16_t> Matcher::add(const CompiledTrigger& t) {
  // Ids are 16 bits and 0xffff means "none".
  if (live_triggers_ >= kNone - 1 || memo_.predicates.size() + t.predicates.size() >= kNone)
    return resource_error({"trigger number ", live_triggers_ + 1}, "at most 65534 triggers and predicates",
                          "matcher", "remove some first");
  constexpr size_t kFewGaps = 64;
  if (next_order_ >= kNone - 1 || next_order_ > 2 * live_triggers_ + kFewGaps) renumber();
  Hot hot;
  hot.live = true;
  hot.every = t.spec.every;
  hot.fingerprint = t.fingerprint;
  WALLE_ASSIGN(const uint16_t group, group_for(t));
  // 13 bits: it shares two bytes with three flags, which keeps what completing a match reads in one line.
  hot.group = group & (kMaxGroups - 1);
  Group& g = *groups_[group];
  const uint16_t id = take_free(free_triggers_, hot_);
  hot.local = take_local(g.trigger_ids, id);
  if (Status s = add_to_trie(g, t, hot.local, id, hot); !s.ok()) {
    g.trigger_ids[hot.local] = kNone;
    drop_last_free(g.trigger_ids);
    free_triggers_.push_back(id);
    learn_plain();
    return s.take_error();
  }
  if (needs_extra(t)) hot.extra = add_extra(t);
  hot_[id] = hot;
  if (Status s = hot.extra == kNone ? Status() : take_cells(g, t, extras_[hot.extra], hot.absence); !s.ok()) {
    fit_partitions(g);
    ++live_triggers_;
    count_ends(t, 1);
    remove(id, t);
    return s.take_error();
  }
  fit_partitions(g);
  learn_plain();
  for (Partition& p : g.partitions)
    if (p.taken) p.barriers[hot.local] = key_;  // only what starts from now on
  take_order(id);
  count_ends(t, 1);
  if (g.scope != Scope::device) {
    tight::grow_to(g.evicted, g.trigger_ids.size());
    g.evicted[hot.local] = {};
  }
  ++live_triggers_;
  reserve_timers();
  if (t.spec.timer != TimerKind::none) start_timer(id, now_);
  return id;
}

// How many triggers may fire at one event: those that end with it, and those that end with any.
void Matcher::count_ends(const CompiledTrigger& t, int change) {
  std::set<uint16_t> events;
  for (const auto& chain : t.variants)
    for (const CompiledAtom& a : chain.back().atoms) events.insert(a.event);
  // Who ends with any event is not counted for one of them, too.
  if (events.count(kAny)) events = {kAny};
  for (const uint16_t event : events) {
    const size_t at = event == kAny ? 0 : event + size_t{1};
    tight::grow_to(ends_, at + 1);
    ends_[at] = static_cast<uint16_t>(ends_[at] + change);
  }
  if (ends_.empty()) return;
  size_t most = 0;
  for (size_t at = 1; at < ends_.size(); ++at) most = std::max<size_t>(most, ends_[at]);
  most += ends_[0];
  if (done_.capacity() < most) done_.reserve(most + most / 16);
}

void Matcher::remove(uint16_t id, const CompiledTrigger& t) {
  if (id >= hot_.size() || !hot_[id].live) return;
  count_ends(t, -1);
  Hot& hot = hot_[id];
  Group& g = *groups_[hot.group];
  const std::vector<uint16_t> predicates = intern_predicates(t);
  for (const auto& chain : t.variants)
    g.trie.remove_chain(resolve(chain, predicates, t.fingerprint), hot.local);
  if (hot.absence != kNone) drop_absence(g, hot.absence);
  for (const uint16_t p : predicates) {  // the one just taken and the one of add()
    memo_.release(p);
    memo_.release(p);
  }
  if (hot.extra != kNone) {
    const TimerKind timer = extras_[hot.extra].timer;
    periodic_triggers_ -= timer == TimerKind::every || timer == TimerKind::daily;
    drop_cells(g, extras_[hot.extra].cells);
    extras_[hot.extra] = {};
    free_extras_.push_back(hot.extra);
  }
  // Before the id is free: a timer of the old trigger must not fire the new one.
  drop_timers(id);
  std::erase_if(idle_, [&](const auto& i) { return i.second == id; });
  rewind_idle();
  g.trigger_ids[hot.local] = kNone;
  hot = {};
  drop_last_free(g.trigger_ids);
  free_triggers_.push_back(id);
  forget_free_numbers(g);
  learn_plain();
  --live_triggers_;
}

// Those that an event belongs to. One that has no field of a key within a page belongs to all keys of its
// page, whose matches it goes on with: it begins none.
template <class Visit>
void Matcher::visit_partitions(Group& g, const Event& e, EventKind kind, Visit&& visit) {
  if (g.scope == Scope::device) return visit(g.partitions[0], true);
  ScopeKey key;
  if (g.scope == Scope::page)
    key.key = e.page_instance;
  else if (g.scope == Scope::session)
    key.key = e.session + 1;  // 0 is a session like any other
  else
    key = scope_key(g.by, e, catalog_);
  // The page's own events are matched first; then nothing more is expected of it.
  const bool ends = kind == EventKind::page_exit && (g.scope == Scope::page || g.by.page);
  if (key.key) {
    Partition& p = *partition_for(g, key.key, key.outer);
    visit(p, true);
    if (ends) g.partitions.close(p);
    return;
  }
  if (!key.outer) return;
  for (Partition& p : g.partitions) {
    if (!p.taken || p.outer != key.outer) continue;
    visit(p, false);
    if (ends) g.partitions.close(p);
  }
}

void Matcher::drop_absence(Group& g, uint16_t absence) {
  Absence& a = absences_[absence];
  g.trie.release_guard(a.guard);
  drop_cells(g, a.keys);
  for (Partition& p : g.partitions) {
    // Its timers go with the trigger.
    if (a.place >= g.partitions.shape().absences) break;
    if (p.taken && p.pending[a.place].armed) g.partitions.end_wait(p);
    p.pending[a.place] = {};
  }
  g.absence_ids[a.place] = kNone;
  drop_last_free(g.absence_ids);
  a = {};
  free_absences_.push_back(absence);
}

// The catalogue may have grown since the last event.
void Matcher::learn_kinds() {
  for (size_t i = kinds_.size(); i < catalog_.events().size(); ++i)
    kinds_.push_back(catalog_.events()[i].kind);
}

void Matcher::update_states(const Event& e) {
  // An app-state event's page id is the state's number; kStateOn tells its new value.
  // The log refuses it; an event given by hand may hold anything.
  if (e.page >= kMaxStates) return;
  const uint64_t bit = uint64_t{1} << e.page;
  states_ = e.flags & kStateOn ? states_ | bit : states_ & ~bit;
}

// What a trie tells of each match that ends. A value, so that an event without any keeps nothing for it.
struct Matcher::Ended {
  Matcher* matcher;
  Group* group;
  const Event* event;

  void operator()(Partition& p, uint64_t key, uint16_t local, uint64_t start, bool plain) const {
    if (!plain) return matcher->complete(*group, p, local, start, *event, key);
    const uint16_t id = group->trigger_ids[local];
    // Read when all ends of the event are known: by then it is here.
    __builtin_prefetch(&matcher->hot_[id]);
    matcher->put_done({.start = start, .partition = group->partitions.number(p), .trigger = id});
  }
};

// What an event asks of triggers is settled when triggers change: where all of them are of the device and
// their trie is plain, and nothing waits for a time, this is all of it.
void Matcher::step(const Event& e, FiringSink& sink) {
  const bool known = e.event < kinds_.size();
  const bool waits = !timers_.empty() || !idle_.empty();
  if (plain_ == nullptr || !started_ || waits || !known || !is_ordinary(kinds_[e.event])) [[unlikely]]
    return step_any(e, sink);
  sink_ = &sink;
  ++stats_.events;
  last_seq_ = e.seq;
  last_ts_ = e.ts;
  now_ = std::max(now_, e.ts);
  const uint64_t key = next_key(e.ts);
  memo_.event = &e;
  memo_.stamp = key;
  Partition& p = plain_->partitions[0];
  plain_->trie.step_plain(e.event, e.page, key, p, memo_, true, Ended{this, plain_, &e});
  p.previous = key;
  if (!done_.empty()) [[unlikely]]
    give_done(e);
}

void Matcher::step_any(const Event& e, FiringSink& sink) {
  sink_ = &sink;
  ++stats_.events;
  if (!started_) advance(e.ts, sink);
  // Before the event is matched: what was due earlier is not broken by it.
  if (idle_next_ < idle_.size() || !timers_.empty()) fire_due(e.ts);
  last_seq_ = e.seq;
  now_ = std::max(now_, e.ts);
  if (e.event >= kinds_.size()) [[unlikely]]
    learn_kinds();
  // A log that is read beside its writer may hold events that this catalogue has not learned.
  const EventKind kind = e.event < kinds_.size() ? kinds_[e.event] : EventKind::custom;
  if (kind == EventKind::timer) return;  // only time has passed
  if (!started_) begin(e.ts);
  const uint64_t key = next_key(e.ts);
  last_ts_ = e.ts;
  idle_next_ = 0;
  if (kind == EventKind::app_state) update_states(e);
  memo_.event = &e;
  // Keys never repeat, so the stamp of the last event makes all remembered values old.
  memo_.stamp = key;
  const uint16_t page = kind == EventKind::app_state ? kNoPage : e.page;
  for (const auto& group : groups_) {
    Group& g = *group;
    if (g.trigger_ids.empty()) continue;  // all of its triggers are gone, and its rows with them
    visit_partitions(g, e, kind, [&](Partition& p, bool begins) {
      g.trie.step(e.event, page, key, p, memo_, begins, Ended{this, &g, &e});
      p.previous = key;
    });
  }
  if (!done_.empty()) give_done(e);
}

// Whether step() need not look further than the device's trie.
void Matcher::learn_plain() {
  plain_ = nullptr;
  for (const auto& group : groups_) {
    if (group->trigger_ids.empty()) continue;
    if (plain_ != nullptr || group->scope != Scope::device || !group->trie.is_plain()) {
      plain_ = nullptr;
      return;
    }
    plain_ = group.get();
  }
}

uint64_t Matcher::key_of(const Done& d) const {
  return groups_[hot_[d.trigger].group]->partitions[d.partition].key;
}

// Limits are asked in the order of firings, too.
void Matcher::give_one(const Done& d, const Event& e) {
  const Hot& hot = hot_[d.trigger];
  const LimitKeys keys = hot.extra == kNone ? LimitKeys{} : limit_keys(hot.extra, e);
  if (!passes(d.trigger, e.ts, keys)) return;
  give(d.trigger, e.seq, e.ts, time_of(d.start), &groups_[hot.group]->partitions[d.partition]);
}

namespace {
template <class Visit>
void each_bit(uint64_t bits, size_t word, Visit&& visit) {
  for (; bits; bits &= bits - 1) visit(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
}
}  // namespace

// By a bit for each place in the order of adding: sorting took a quarter of the time of events that end many
// matches. False, and nothing given, where a trigger's matches ended in several partitions.
bool Matcher::give_by_place(const Event& e) {
  uint64_t several = 0;
  for (size_t i = 0; i < done_.size(); ++i) {
    const uint16_t place = hot_[done_[i].trigger].order;
    const uint64_t bit = uint64_t{1} << place % 64;
    several |= ended_[place / 64] & bit;
    ended_[place / 64] |= bit;
    ended_words_[place / 64 / 64] |= uint64_t{1} << place / 64 % 64;
    ended_at_[place] = static_cast<uint16_t>(i);
  }
  for (size_t at = 0; at < ended_words_.size(); ++at)
    each_bit(std::exchange(ended_words_[at], 0), at, [&](size_t word) {
      const uint64_t bits = std::exchange(ended_[word], 0);
      if (!several) each_bit(bits, word, [&](size_t place) { give_one(done_[ended_at_[place]], e); });
    });
  return several == 0;
}

// In the order in which triggers were added, whatever the trie's; of several keys by start and key, whatever
// their rows, which a restart gives anew.
void Matcher::give_done(const Event& e) {
  constexpr size_t kFew = 3;  // are sorted faster than bits are set and found
  const bool many = done_.size() > kFew && done_.size() < kNone;
  if (many && give_by_place(e)) return done_.clear();
  if (done_.size() > 1)
    std::sort(done_.begin(), done_.end(), [&](const Done& a, const Done& b) {
      if (a.trigger != b.trigger) return hot_[a.trigger].order < hot_[b.trigger].order;
      if (a.start != b.start) return a.start < b.start;
      return key_of(a) < key_of(b);
    });
  for (const Done& d : done_) give_one(d, e);
  done_.clear();
}

// The next place in the order of adding.
void Matcher::take_order(uint16_t id) {
  hot_[id].order = static_cast<uint16_t>(next_order_++);
  tight::grow_to(ended_, next_order_ / 64 + 1);
  tight::grow_to(ended_words_, ended_.size() / 64 + 1);
  tight::grow_to(ended_at_, next_order_);
}

// Places without gaps, in the order that they have.
void Matcher::renumber() {
  std::vector<uint16_t> ids;
  for (size_t id = 0; id < hot_.size(); ++id)
    if (hot_[id].live) ids.push_back(static_cast<uint16_t>(id));
  std::ranges::sort(ids, {}, [&](uint16_t id) { return hot_[id].order; });
  next_order_ = 0;
  for (const uint16_t id : ids) hot_[id].order = static_cast<uint16_t>(next_order_++);
  for (Timer& t : timers_) t.order = hot_[t.trigger].order;
}

void Matcher::complete(Group& g, Partition& p, uint16_t local, uint64_t start, const Event& e, uint64_t key) {
  const uint16_t id = g.trigger_ids[local];
  const Hot& hot = hot_[id];
  const bool waits = hot.absence != kNone;
  if (hot.extra != kNone) {
    Extra& x = extras_[hot.extra];
    // First of all: what is aggregated counts whatever the states are.
    if (x.aggregate) {
      start = x.aggregate->feed(&p.guards[x.cells], e, catalog_, key, p.barriers[local]);
      if (!start) return;
    }
    // States are asked when the match is complete, not while it grows: "when wifi" is about whether to act
    // now. The time of day is that of the firing.
    if (!states_allow(x) || (!waits && !is_time(x, e.ts))) return;
    if (x.last_match == key && x.last_partition == &p) return;
    if (hot.every) {
      x.last_match = key;
      x.last_partition = &p;
    }
  }
  if (waits) {
    const LimitKeys keys = hot.extra == kNone ? LimitKeys{} : limit_keys(hot.extra, e);
    arm(g, absences_[hot.absence], p, start, key, keys);
    return;
  }
  // skip_past: the next match must start behind this event.
  if (!hot.every) p.barriers[local] = key;
  put_done({.start = start, .partition = g.partitions.number(p), .trigger = id});
}

Matcher::LimitKeys Matcher::limit_keys(uint16_t extra, const Event& e) const {
  LimitKeys keys{};
  const std::vector<PerKey>& all = extras_[extra].per_key;
  for (size_t i = 0; i < all.size(); ++i) keys[i] = limit_key(all[i].key, e, catalog_);
  return keys;
}

// Only the earliest completion matters: firing at its deadline skips past all that started before the
// deadline, and what breaks it also breaks the later ones, which are all younger than its time.
void Matcher::arm(Group& g, const Absence& a, Partition& p, uint64_t start, uint64_t key,
                  const LimitKeys& keys) {
  Pending& pending = p.pending[a.place];
  if (pending.armed && p.guards[a.guard] <= pending.armed) return;
  if (!pending.armed) g.partitions.add_wait(p);
  pending.armed = key;
  pending.start = start;
  if (a.keys != kNone) std::copy(keys.begin(), keys.end(), p.guards + a.keys);
  if (pending.queued) return;  // its old timer finds the new deadline
  pending.queued = true;
  wait_for(p, g.partitions.number(p), a.trigger, time_of(key) + a.for_us);
}

bool Matcher::states_allow(const Extra& x) const {
  return x.when.empty() || std::any_of(x.when.begin(), x.when.end(),
                                       [&](const StateGuard& g) { return (states_ & g.mask) == g.value; });
}

bool Matcher::is_time(const Extra& x, int64_t ts) const {
  return x.during.empty() || is_during(x.during, local_.of(ts));
}

bool Matcher::is_held(const Extra& x, int64_t ts, const LimitKeys& keys) const {
  if ((x.once && x.fired) || (x.cooldown_us && x.fired && ts - x.last_fire < x.cooldown_us)) return true;
  if (!x.recent.empty() && x.recent[x.next] != kNever && ts - x.recent[x.next] < x.rate_us) return true;
  for (size_t i = 0; i < x.per_key.size(); ++i)
    if (!x.per_key[i].limit.allows(keys[i], ts)) return true;
  return false;
}

void Matcher::note_firing(Extra& x, int64_t ts, const LimitKeys& keys) {
  x.fired = true;
  x.last_fire = ts;
  for (size_t i = 0; i < x.per_key.size(); ++i) x.per_key[i].limit.note(keys[i], ts);
  if (x.recent.empty()) return;
  // The ring's oldest entry is the one `rate` firings ago: one comparison decides.
  x.recent[x.next] = ts;
  x.next = (x.next + 1) % x.recent.size();
}

// Whether its limits let it fire now, which then counts.
bool Matcher::passes(uint16_t id, int64_t ts, const LimitKeys& keys) {
  Hot& hot = hot_[id];
  if (hot.extra != kNone) {
    Extra& x = extras_[hot.extra];
    if (is_held(x, ts, keys)) {
      ++stats_.suppressed;
      ++x.suppressed;
      return false;
    }
    note_firing(x, ts, keys);
  }
  ++stats_.firings;
  ++hot.fired;
  hot.last_fired = ts;
  return true;
}

// `p`: null for timers. Of several keys each may fire at one event, or have one deadline.
void Matcher::give(uint16_t id, uint64_t seq, int64_t ts, int64_t start_ts, const Partition* p) {
  const Hot& hot = hot_[id];
  uint64_t name = base::mix(base::mix(hot.fingerprint, seq), static_cast<uint64_t>(ts));
  const MatchPlace place = p ? MatchPlace{groups_[hot.group]->scope, p->key} : MatchPlace{};
  if (place.key) name = base::mix(name, place.key);
  sink_->fired({.trigger = id, .seq = seq, .ts = ts, .start_ts = start_ts, .idempotency = name}, place);
}

MatcherStats Matcher::stats() const {
  MatcherStats out = stats_;
  for (const Extra& x : extras_) {
    for (const PerKey& k : x.per_key) out.evicted_limits += k.limit.evicted();
    if (x.aggregate) out.evicted_limits += x.aggregate->overflowed();
  }
  return out;
}

size_t Matcher::node_count() const {
  size_t n = 0;
  for (const auto& g : groups_) n += g->trie.node_count();
  return n;
}

size_t Matcher::edge_count() const {
  size_t n = 0;
  for (const auto& g : groups_) n += g->trie.edge_count();
  return n;
}

size_t Matcher::memory_bytes() const {
  using tight::bytes;
  size_t total = memo_.memory_bytes() + bytes(kinds_) + bytes(groups_) + bytes(hot_) + bytes(free_triggers_) +
                 bytes(extras_) + bytes(free_extras_) + bytes(absences_) + bytes(free_absences_) +
                 bytes(timers_) + bytes(idle_) + bytes(ended_) + bytes(ended_words_) + bytes(ended_at_) +
                 bytes(done_) + bytes(ends_) + queue_.memory_bytes() + local_.memory_bytes();
  for (const Extra& x : extras_) {
    total += bytes(x.when) + bytes(x.recent) + bytes(x.per_key) + bytes(x.during);
    for (const PerKey& k : x.per_key) total += bytes(k.key.fields) + k.limit.memory_bytes();
    if (x.aggregate) total += sizeof(AggregateTrigger);
  }
  for (const auto& g : groups_)
    total += sizeof(Group) + g->trie.memory_bytes() + bytes(g->trigger_ids) + bytes(g->absence_ids) +
             bytes(g->evicted) + bytes(g->by.fields) + bytes(g->by_text) + g->partitions.memory_bytes();
  return total;
}

}  // namespace walle::stream
