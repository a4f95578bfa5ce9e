#include "stream/match/matcher.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "stream/event/sequencer.h"
#include "stream/match/event_key.h"
#include "stream/match/matcher_group.h"
#include "stream/match/trie_step.h"
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

// Of several variants, an event may end more than one: with `every`, each would fire.
bool needs_extra(const CompiledTrigger& t) {
  const TriggerSpec& s = t.spec;
  return s.once || s.cooldown_us || s.rate || !t.when.empty() || s.timer != TimerKind::none ||
         !s.during.empty() || s.aggregate.kind != TriggerAggregateKind::none ||
         (s.every && t.variants.size() > 1);
}

// Of a scope. A session's partition also waits for absences after it has ended: as many sessions as that.
size_t partition_count(Scope scope) {
  constexpr size_t kKeptSessions = 64;
  if (scope == Scope::device) return 1;
  if (scope == Scope::session) return kKeptSessions;
  return scope == Scope::page ? kMaxOpenPages : kMaxKeys;
}
}  // namespace

Matcher::Matcher(const Catalog& catalog, MatcherOptions options)
    : catalog_(catalog),
      local_(options.utc_offset_us, std::move(options.offset_changes)),
      queue_(options.queue_capacity) {
  memo_.catalog = &catalog_;
  learn_kinds();
}
Matcher::~Matcher() = default;

uint64_t Matcher::next_key(int64_t ts) {
  // From the first event on: 54 bits of microseconds last 570 years, those since 1970 would do as well but
  // leave less.
  if (!started_) base_ = ts;
  started_ = true;
  // Time 1, number 0 is the first microsecond: a key is never 0. A microsecond with more than 1,024 events
  // runs over into the next one.
  const uint64_t at = static_cast<uint64_t>(ts - base_ + 1) << kKeyShift;
  return key_ = std::max(at, key_ + 1);
}

Result<uint16_t> Matcher::group_for(const CompiledTrigger& t) {
  const Scope scope = t.spec.scope;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i]->scope == scope && groups_[i]->by == t.by) return static_cast<uint16_t>(i);
  if (groups_.size() == kMaxGroups)
    return resource_error("by(field) scope number " + std::to_string(groups_.size()),
                          "at most " + std::to_string(kMaxGroups - 3) + " different fields", "matcher",
                          "remove tasks or share fields");
  auto g = std::make_unique<Group>();
  g->scope = scope;
  g->by = t.by;
  // All at once, because step() allocates nothing.
  g->partitions.resize(partition_count(scope));
  groups_.push_back(std::move(g));
  return static_cast<uint16_t>(groups_.size() - 1);
}

std::vector<CompiledAtom> Matcher::resolve(const std::vector<CompiledAtom>& atoms,
                                           const std::vector<uint16_t>& predicates) const {
  std::vector<CompiledAtom> out = atoms;
  for (CompiledAtom& a : out)
    // From the trigger's own numbering to the matcher's, where equal predicates of all tasks are one.
    if (a.predicate >= 0) a.predicate = a.of(predicates);
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

// All partitions have room for every node, guard and trigger
// of their trie, so that a step never grows anything.
void Matcher::fit_partitions(Group& g) {
  for (Partition& p : g.partitions) {
    tight::grow_to(p.slots, g.trie.node_capacity());
    tight::grow_to(p.guards, g.trie.guard_capacity());
    tight::grow_to(p.barriers, g.trigger_ids.size());
    // A number given out again must not inherit the partial matches of its former owner.
    for (const uint16_t n : g.trie.free_nodes()) p.slots[n] = {};
    for (const uint16_t n : g.trie.free_guards()) p.guards[n] = 0;
  }
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
    for (const uint16_t p : predicates) memo_.release(p);
    fit_partitions(g);
    return s;
  };
  for (; added < t.variants.size(); ++added)
    if (Status s = g.trie.add_chain(resolve(t.variants[added], predicates, t.fingerprint), local, within);
        !s.ok())
      return undo(std::move(s));
  if (!t.absent.empty()) {
    auto guard = g.trie.add_guard(resolve(t.absent, predicates));
    if (!guard.ok()) return undo(guard.take_error());
    hot.absence = take_free(free_absences_, absences_);
    absences_[hot.absence] = {.for_us = t.spec.absent_us,
                              .guard = *guard,
                              .trigger = id,
                              .pending = std::vector<Pending>(g.partitions.size())};
    // An absence waits at most once in each partition: armed by an event, which allocates nothing.
    timers_.reserve(timers_.size() + absences_.size() * kMaxKeys + hot_.size() + kSpareTimers);
  }
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
  if (first == kNone) return;
  const size_t count = g.trie.release_cells(first);
  for (Partition& p : g.partitions) std::fill_n(p.guards.begin() + first, count, 0);
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
    return resource_error("trigger number " + std::to_string(live_triggers_ + 1),
                          "at most 65534 triggers and predicates", "matcher", "remove some first");
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
    free_triggers_.push_back(id);
    return s.take_error();
  }
  if (needs_extra(t)) hot.extra = add_extra(t);
  hot_[id] = hot;
  if (Status s = hot.extra == kNone ? Status() : take_cells(g, t, extras_[hot.extra], hot.absence); !s.ok()) {
    fit_partitions(g);
    ++live_triggers_;
    remove(id, t);
    return s.take_error();
  }
  fit_partitions(g);
  for (Partition& p : g.partitions) p.barriers[hot.local] = key_;  // only what starts from now on
  tight::grow_to(orders_, hot_.size());
  orders_[id] = next_order_++;
  if (done_.capacity() < hot_.size()) done_.reserve(hot_.capacity());
  ++live_triggers_;
  if (t.spec.timer != TimerKind::none) start_timer(id, now_);
  return id;
}

void Matcher::remove(uint16_t id, const CompiledTrigger& t) {
  if (id >= hot_.size() || !hot_[id].live) return;
  Hot& hot = hot_[id];
  Group& g = *groups_[hot.group];
  const std::vector<uint16_t> predicates = intern_predicates(t);
  for (const auto& chain : t.variants)
    g.trie.remove_chain(resolve(chain, predicates, t.fingerprint), hot.local);
  if (hot.absence != kNone) {
    g.trie.release_guard(absences_[hot.absence].guard);
    drop_cells(g, absences_[hot.absence].keys);
    absences_[hot.absence] = {};
    free_absences_.push_back(hot.absence);
  }
  for (const uint16_t p : predicates) {  // the one just taken and the one of add()
    memo_.release(p);
    memo_.release(p);
  }
  if (hot.extra != kNone) {
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
  free_triggers_.push_back(id);
  fit_partitions(g);
  --live_triggers_;
}

// One of a key; the least recently used gives way to a new one.
Partition* Matcher::partition_for(Group& g, uint64_t wanted, uint64_t outer) {
  for (Partition& p : g.partitions)
    if (p.used && p.key == wanted) return &p;
  Partition& p = give_way(g);
  p.key = wanted;
  p.outer = outer;
  p.previous = 0;
  p.lives = 0;
  return &p;
}

// A free one has used = 0 and so is the oldest.
Partition& Matcher::give_way(Group& g) {
  Partition* oldest = &g.partitions[0];
  for (Partition& p : g.partitions)
    if (p.used < oldest->used) oldest = &p;
  if (!oldest->used) return *oldest;
  const size_t at = oldest - g.partitions.data();
  bool lost = false;
  for (Absence& a : absences_)
    if (a.trigger != kNone && groups_[hot_[a.trigger].group].get() == &g) {
      lost |= a.pending[at].armed != 0;
      a.pending[at].armed = 0;
    }
  // Counted only if something was under way: giving up an empty key costs nobody a firing. Nothing goes on in
  // a session that has ended, but waiting.
  if (g.scope != Scope::session)
    lost |=
        std::any_of(oldest->slots.begin(), oldest->slots.end(), [](const Slot& s) { return s.start != 0; });
  stats_.evicted_keys += lost;
  std::fill(oldest->slots.begin(), oldest->slots.end(), Slot{});
  std::fill(oldest->guards.begin(), oldest->guards.end(), 0);
  std::fill(oldest->barriers.begin(), oldest->barriers.end(), 0);
  return *oldest;
}

// Those that an event belongs to. One that has no field of a key within a page belongs to all keys of its
// page, whose matches it goes on with: it begins none.
template <class Visit>
void Matcher::visit_partitions(Group& g, const Event& e, Visit&& visit) {
  if (g.scope == Scope::device) return visit(g.partitions[0], true);
  ScopeKey key;
  if (g.scope == Scope::page)
    key.key = e.page_instance;
  else if (g.scope == Scope::session)
    key.key = e.session + 1;  // 0 is a session like any other
  else
    key = scope_key(g.by, e, catalog_);
  if (key.key) return visit(*partition_for(g, key.key, key.outer), true);
  if (!key.outer) return;
  for (Partition& p : g.partitions)
    if (p.used && p.outer == key.outer) visit(p, false);
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

void Matcher::step(const Event& e) {
  ++stats_.events;
  if (!started_) advance(e.ts);
  // Before the event is matched: what was due earlier is not broken by it.
  if (idle_next_ < idle_.size() || !timers_.empty()) fire_due(e.ts);
  last_seq_ = e.seq;
  now_ = std::max(now_, e.ts);
  if (e.event >= kinds_.size()) [[unlikely]]
    learn_kinds();
  const EventKind kind = kinds_[e.event];
  if (kind == EventKind::timer) return;  // only time has passed
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
    visit_partitions(g, e, [&](Partition& p, bool begins) {
      p.used = key;
      g.trie.step(e.event, page, key, p, memo_, begins,
                  [&](uint16_t local, uint64_t start) { complete(g, p, local, start, e, key); });
      p.previous = key;
    });
  }
  if (!done_.empty()) deliver();
}

// In the order in which triggers were added, whatever the trie's.
void Matcher::deliver() {
  if (done_.size() > 1)
    std::sort(done_.begin(), done_.end(), [&](const Firing& a, const Firing& b) {
      return std::tie(orders_[a.trigger], a.start_ts, a.idempotency) <
             std::tie(orders_[b.trigger], b.start_ts, b.idempotency);
    });
  for (const Firing& f : done_) queue_.push(f);
  done_.clear();
}

void Matcher::complete(Group& g, Partition& p, uint16_t local, uint64_t start, const Event& e, uint64_t key) {
  const uint16_t id = g.trigger_ids[local];
  const Hot& hot = hot_[id];
  const bool waits = hot.absence != kNone;
  LimitKeys keys{};
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
    keys = limit_keys(hot.extra, e);
  }
  if (waits) {
    arm(absences_[hot.absence], p, static_cast<uint16_t>(&p - g.partitions.data()), start, key, keys);
    return;
  }
  // skip_past: the next match must start behind this event.
  if (!hot.every) p.barriers[local] = key;
  fire(id, e.seq, e.ts, time_of(start), keys, g.scope == Scope::by ? p.key : 0);
}

Matcher::LimitKeys Matcher::limit_keys(uint16_t extra, const Event& e) const {
  LimitKeys keys{};
  const std::vector<PerKey>& all = extras_[extra].per_key;
  for (size_t i = 0; i < all.size(); ++i) keys[i] = limit_key(all[i].key, e, catalog_);
  return keys;
}

// Only the earliest completion matters: firing at its deadline skips past all that started before the
// deadline, and what breaks it also breaks the later ones, which are all younger than its time.
void Matcher::arm(Absence& a, Partition& p, uint16_t partition, uint64_t start, uint64_t key,
                  const LimitKeys& keys) {
  Pending& pending = a.pending[partition];
  if (pending.armed && p.guards[a.guard] <= pending.armed) return;
  pending.armed = key;
  pending.start = start;
  if (a.keys != kNone) std::copy(keys.begin(), keys.end(), p.guards.begin() + a.keys);
  if (pending.queued) return;  // its old timer finds the new deadline
  pending.queued = true;
  push_timer({time_of(key) + a.for_us, orders_[a.trigger], a.trigger, partition});
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

void Matcher::fire(uint16_t id, uint64_t seq, int64_t ts, int64_t start_ts, const LimitKeys& keys,
                   uint64_t salt) {
  const Hot& hot = hot_[id];
  if (hot.extra != kNone) {
    Extra& x = extras_[hot.extra];
    if (is_held(x, ts, keys)) {
      ++stats_.suppressed;
      return;
    }
    note_firing(x, ts, keys);
  }
  ++stats_.firings;
  // Only where an event belongs to several keys, each of which may fire, are there more than triggers.
  if (done_.size() == done_.capacity()) deliver();
  const uint64_t name = base::mix(base::mix(hot.fingerprint, seq), static_cast<uint64_t>(ts));
  done_.push_back({.trigger = id,
                   .seq = seq,
                   .ts = ts,
                   .start_ts = start_ts,
                   .idempotency = salt ? base::mix(name, salt) : name});
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
                 bytes(timers_) + bytes(idle_) + bytes(orders_) + bytes(done_) + queue_.memory_bytes() +
                 local_.memory_bytes();
  for (const Extra& x : extras_) {
    total += bytes(x.when) + bytes(x.recent) + bytes(x.per_key) + bytes(x.during);
    for (const PerKey& k : x.per_key) total += bytes(k.key.fields) + k.limit.memory_bytes();
    if (x.aggregate) total += sizeof(AggregateTrigger);
  }
  for (const Absence& a : absences_) total += bytes(a.pending);
  for (const auto& g : groups_) {
    total += sizeof(Group) + g->trie.memory_bytes() + bytes(g->trigger_ids) + bytes(g->partitions) +
             bytes(g->by.fields);
    for (const Partition& p : g->partitions) total += bytes(p.slots) + bytes(p.guards) + bytes(p.barriers);
  }
  return total;
}

}  // namespace walle::stream
