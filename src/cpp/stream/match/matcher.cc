#include "stream/match/matcher.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "stream/event/sequencer.h"
#include "stream/match/matcher_group.h"
#include "stream/match/trie_step.h"

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
         (s.every && t.variants.size() > 1);
}

uint64_t partition_hash(const Value& v) {
  base::Hasher h;
  // The type goes in, or the integer 1 and true would share a partition.
  h.value(static_cast<uint8_t>(v.type));
  if (v.type == FieldType::text)
    h.text(v.text);
  else
    h.value(v.i);
  // 0 means "in no partition". Two values in 2^63 may share one; a matcher that kept the texts would allocate
  // in step().
  return h.finish() | 1;
}
}  // namespace

Matcher::Matcher(const Catalog& catalog, MatcherOptions options)
    : catalog_(catalog), options_(options), queue_(options.queue_capacity) {
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
  // A session is a suffix of the device's stream: its triggers share the device's trie, and a match must
  // start behind the session's first event.
  const Scope scope = t.spec.scope == Scope::session ? Scope::device : t.spec.scope;
  const uint16_t field = scope == Scope::by ? t.by_field : 0;
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i]->scope == scope && groups_[i]->by_field == field) return static_cast<uint16_t>(i);
  if (groups_.size() == kMaxGroups)
    return resource_error("by(field) scope number " + std::to_string(groups_.size()),
                          "at most " + std::to_string(kMaxGroups - 2) + " different fields", "matcher",
                          "remove tasks or share fields");
  auto g = std::make_unique<Group>();
  g->scope = scope;
  g->by_field = field;
  // All at once, because step() allocates nothing: 1, one per nested page, or kMaxKeys of a field.
  g->partitions.resize(scope == Scope::device ? 1 : scope == Scope::page ? kMaxOpenPages : kMaxKeys);
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
                                           const std::vector<uint16_t>& predicates) const {
  std::vector<ResolvedStep> out;
  out.reserve(chain.size());
  for (const CompiledStep& s : chain)
    out.push_back({.follow = s.follow,
                   .gap_us = s.gap_us,
                   .atoms = resolve(s.atoms, predicates),
                   .guard = resolve(s.guard, predicates)});
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
  const uint64_t within = key_limit(t.spec.within_us.value_or(-1));
  const std::vector<uint16_t> predicates = intern_predicates(t);
  size_t added = 0;
  const auto undo = [&](Status s) {
    // Backwards over what succeeded; remove_chain() of a chain that add_chain() refused would remove another
    // task's.
    while (added-- > 0) g.trie.remove_chain(resolve(t.variants[added], predicates), local);
    for (const uint16_t p : predicates) memo_.release(p);
    fit_partitions(g);
    return s;
  };
  for (; added < t.variants.size(); ++added)
    if (Status s = g.trie.add_chain(resolve(t.variants[added], predicates), local, within); !s.ok())
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

uint16_t Matcher::add_extra(const CompiledTrigger& t) {
  const uint16_t extra = take_free(free_extras_, extras_);
  extras_[extra] = {.when = t.when,
                    .once = t.spec.once,
                    .cooldown_us = t.spec.cooldown_us,
                    .last_fire = kNever,
                    .rate_us = t.spec.rate_us,
                    .recent = std::vector<int64_t>(t.spec.rate, kNever),
                    .timer = t.spec.timer,
                    .timer_us = t.spec.timer_us};
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
  hot.session = t.spec.scope == Scope::session;
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
  fit_partitions(g);
  for (Partition& p : g.partitions) p.barriers[hot.local] = key_;  // only what starts from now on
  hot_[id] = hot;
  ++live_triggers_;
  if (t.spec.timer != TimerKind::none) start_timer(id, now_);
  return id;
}

void Matcher::remove(uint16_t id, const CompiledTrigger& t) {
  if (id >= hot_.size() || !hot_[id].live) return;
  Hot& hot = hot_[id];
  Group& g = *groups_[hot.group];
  const std::vector<uint16_t> predicates = intern_predicates(t);
  for (const auto& chain : t.variants) g.trie.remove_chain(resolve(chain, predicates), hot.local);
  if (hot.absence != kNone) {
    g.trie.release_guard(absences_[hot.absence].guard);
    absences_[hot.absence] = {};
    free_absences_.push_back(hot.absence);
  }
  for (const uint16_t p : predicates) {  // the one just taken and the one of add()
    memo_.release(p);
    memo_.release(p);
  }
  if (hot.extra != kNone) {
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

// The partition of a page or by(field) scope; nullptr when the event is in none. The least recently used key
// gives way to a new one.
Partition* Matcher::partition_for(Group& g, const Event& e) {
  uint64_t wanted = 0;
  if (g.scope == Scope::page) {
    wanted = e.page_instance;
  } else if (const Value* v = e.field(catalog_, g.by_field)) {
    wanted = partition_hash(*v);
  }
  // No page, or no such field: the event does not exist for this scope.
  if (!wanted) return nullptr;
  Partition* oldest = &g.partitions[0];
  for (Partition& p : g.partitions) {
    if (p.used && p.key == wanted) return &p;
    // A free one has used = 0 and so is the oldest. Linear over 16 or 64: they lie in a row, and a hash table
    // would have to be kept in order of use as well.
    if (p.used < oldest->used) oldest = &p;
  }
  if (oldest->used) {
    const size_t at = oldest - g.partitions.data();
    // Counted only if something was under way: giving up an empty key costs nobody a firing.
    stats_.evicted_keys +=
        std::any_of(oldest->slots.begin(), oldest->slots.end(), [](const Slot& s) { return s.start != 0; });
    std::fill(oldest->slots.begin(), oldest->slots.end(), Slot{});
    std::fill(oldest->guards.begin(), oldest->guards.end(), 0);
    std::fill(oldest->barriers.begin(), oldest->barriers.end(), 0);
    for (Absence& a : absences_)
      if (a.trigger != kNone && groups_[hot_[a.trigger].group].get() == &g) a.pending[at].armed = 0;
  }
  oldest->key = wanted;
  oldest->previous = 0;
  oldest->lives = 0;
  return oldest;
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
  // A log that is read beside its writer may hold events that this catalogue has not learned.
  const EventKind kind = e.event < kinds_.size() ? kinds_[e.event] : EventKind::custom;
  if (kind == EventKind::timer) return;  // only time has passed
  const uint64_t key = next_key(e.ts);
  last_ts_ = e.ts;
  idle_next_ = 0;
  if (kind == EventKind::app_state) update_states(e);
  // The session's first event: matches of session scope must not start before it.
  if (e.session != session_) {
    session_ = e.session;
    session_key_ = key;
  }
  memo_.event = &e;
  // Keys never repeat, so the stamp of the last event makes all remembered values old.
  memo_.stamp = key;
  const uint16_t page = kind == EventKind::app_state ? kNoPage : e.page;
  for (const auto& group : groups_) {
    Group& g = *group;
    Partition* p = g.scope == Scope::device ? &g.partitions[0] : partition_for(g, e);
    if (!p) continue;
    p->used = key;
    g.trie.step(e.event, page, key, *p, memo_,
                [&](uint16_t local, uint64_t start) { complete(g, *p, local, start, e, key); });
    p->previous = key;
  }
}

void Matcher::complete(Group& g, Partition& p, uint16_t local, uint64_t start, const Event& e, uint64_t key) {
  const uint16_t id = g.trigger_ids[local];
  const Hot& hot = hot_[id];
  if (hot.session && start < session_key_) return;
  if (hot.extra != kNone) {
    Extra& x = extras_[hot.extra];
    // States are asked when the match is complete, not while it grows: "when wifi" is about whether to act
    // now.
    if (!states_allow(x) || x.last_match == key) return;
    if (hot.every) x.last_match = key;
  }
  if (hot.absence != kNone) {
    arm(absences_[hot.absence], p, static_cast<uint16_t>(&p - g.partitions.data()), start, key);
    return;
  }
  // skip_past: the next match must start behind this event.
  if (!hot.every) p.barriers[local] = key;
  fire(id, e.seq, e.ts, time_of(start));
}

// Only the earliest completion matters: firing at its deadline skips past all that started before the
// deadline, and what breaks it also breaks the later ones, which are all younger than its time.
void Matcher::arm(Absence& a, Partition& p, uint16_t partition, uint64_t start, uint64_t key) {
  Pending& pending = a.pending[partition];
  if (pending.armed && p.guards[a.guard] <= pending.armed) return;
  pending.armed = key;
  pending.start = start;
  if (pending.queued) return;  // its old timer finds the new deadline
  pending.queued = true;
  push_timer({time_of(key) + a.for_us, a.trigger, partition});
}

bool Matcher::states_allow(const Extra& x) const {
  return x.when.empty() || std::any_of(x.when.begin(), x.when.end(),
                                       [&](const StateGuard& g) { return (states_ & g.mask) == g.value; });
}

void Matcher::fire(uint16_t id, uint64_t seq, int64_t ts, int64_t start_ts) {
  const Hot& hot = hot_[id];
  if (hot.extra != kNone) {
    Extra& x = extras_[hot.extra];
    const bool held = (x.once && x.fired) || (x.cooldown_us && x.fired && ts - x.last_fire < x.cooldown_us) ||
                      (!x.recent.empty() && x.recent[x.next] != kNever && ts - x.recent[x.next] < x.rate_us);
    if (held) {
      ++stats_.suppressed;
      return;
    }
    x.fired = true;
    x.last_fire = ts;
    if (!x.recent.empty()) {
      // The ring's oldest entry is the one `rate` firings ago: one comparison decides.
      x.recent[x.next] = ts;
      x.next = (x.next + 1) % x.recent.size();
    }
  }
  ++stats_.firings;
  queue_.push({.trigger = id,
               .seq = seq,
               .ts = ts,
               .start_ts = start_ts,
               .idempotency = base::mix(base::mix(hot.fingerprint, seq), static_cast<uint64_t>(ts))});
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
                 bytes(timers_) + bytes(idle_) + queue_.memory_bytes();
  for (const Extra& x : extras_) total += bytes(x.when) + bytes(x.recent);
  for (const Absence& a : absences_) total += bytes(a.pending);
  for (const auto& g : groups_) {
    total += sizeof(Group) + g->trie.memory_bytes() + bytes(g->trigger_ids) + bytes(g->partitions);
    for (const Partition& p : g->partitions) total += bytes(p.slots) + bytes(p.guards) + bytes(p.barriers);
  }
  return total;
}

}  // namespace walle::stream
