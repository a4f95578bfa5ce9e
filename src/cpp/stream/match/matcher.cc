#include "stream/match/matcher.h"

#include <algorithm>

#include "base/hash.h"
#include "stream/event/sequencer.h"
#include "stream/match/event_key.h"
#include "stream/match/matcher_group.h"
#include "stream/match/trie_step.h"
#include "stream/trigger/day_span.h"

namespace walle::stream {

Matcher::Matcher(const Catalog& catalog, MatcherOptions options)
    : catalog_(catalog),
      options_(std::move(options)),
      local_(std::move(options_.local)),
      queue_(options_.queue_capacity) {
  memo_.catalog = &catalog_;
  learn_kinds();
}
Matcher::~Matcher() = default;

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
    matcher->put_ended({.start = start, .partition = group->partitions.number(p), .trigger = id});
  }
};

// In one partition. Inlined for the device's, where nearly all triggers are.
[[gnu::always_inline]] inline void Matcher::step_in(Group& g, Partition& p, const Event& e, uint16_t page,
                                                    bool begins) {
  const uint64_t key = clock_.key;
  g.trie.step(e.event, page, key, p, memo_, begins, Ended{this, &g, &e});
  p.previous = key;
}

// What has none of the scope's fields begins no match, and an aggregate's one step is a beginning for the
// trie.
void Matcher::count_in(Group& g, Partition& p, const Event& e, uint16_t page) {
  for (const Counted& c : g.counted) {
    const bool is = std::ranges::any_of(c.atoms, [&](const CompiledAtom& a) {
      return (a.event == kAny || a.event == e.event) && (a.page == kAny || a.page == page) &&
             (a.predicate < 0 || memo_.holds(static_cast<uint16_t>(a.predicate)));
    });
    if (is) complete(g, p, hot_[c.trigger].local, clock_.key, e, clock_.key);
  }
}

// In those of other scopes that the event belongs to. One that has no field of a key within a page belongs to
// all keys of its page, whose matches it goes on with: it begins none.
[[gnu::noinline]] void Matcher::step_in_keys(Group& g, const Event& e, uint16_t page, EventKind kind) {
  ScopeKey key;
  if (g.scope == Scope::page)
    key.key = e.page_instance;
  else if (g.scope == Scope::session)
    key.key = e.session + 1;  // 0 is a session like any other
  else
    key = scope_key(g.by, e, catalog_);
  // The page's own events are matched first; then nothing more is expected of it.
  const bool ends = kind == EventKind::page_exit && (g.scope == Scope::page || g.by.page);
  const auto visit = [&](Partition& p, bool begins) {
    step_in(g, p, e, page, begins);
    if (!begins) count_in(g, p, e, page);
    if (ends) g.partitions.close(p);
  };
  if (key.key) return visit(*partition_for(g, key.key, key.outer), true);
  if (!key.outer) return;
  for (Partition& p : g.partitions)
    if (p.taken && p.outer == key.outer) visit(p, false);
}

void Matcher::step(const Event& e, FiringSink& sink) {
  sink_ = &sink;
  ++stats_.events;
  if (!clock_.started) advance(e.ts, sink);
  // Before the event is matched: what was due earlier is not broken by it.
  if (idle_.any_left() || !timers_.empty()) fire_due(e.ts);
  clock_.last_seq = e.seq;
  clock_.now = std::max(clock_.now, e.ts);
  if (e.event >= kinds_.size()) [[unlikely]]
    learn_kinds();
  // A log that is read beside its writer may hold events that this catalogue has not learned.
  const EventKind kind = e.event < kinds_.size() ? kinds_[e.event] : EventKind::custom;
  if (kind == EventKind::timer) return;  // only time has passed
  if (!clock_.started) clock_.begin(e.ts);
  const uint64_t key = clock_.next_key(e.ts);
  clock_.last_ts = e.ts;
  idle_.rewind();
  if (kind == EventKind::app_state) update_states(e);
  memo_.event = &e;
  // Keys never repeat, so the stamp of the last event makes all remembered values old.
  memo_.stamp = key;
  const uint16_t page = kind == EventKind::app_state ? kNoPage : e.page;
  for (const auto& group : groups_) {
    Group& g = *group;
    if (g.trigger_ids.empty()) continue;  // all of its triggers are gone, and its rows with them
    if (g.scope == Scope::device) [[likely]]
      step_in(g, g.partitions[0], e, page, true);
    else
      step_in_keys(g, e, page, kind);
  }
  if (!order_.empty()) give_ended(e);
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
    arm(g, absences_[hot.absence], p, start, key, limit_keys(hot, e));
    return;
  }
  // skip_past: the next match must start behind this event.
  if (!hot.every) p.barriers[local] = key;
  put_ended({.start = start, .partition = g.partitions.number(p), .trigger = id});
}

Matcher::LimitKeys Matcher::limit_keys(const Hot& hot, const Event& e) const {
  return hot.extra == kNone ? LimitKeys{} : extras_[hot.extra].limits.keys_of(e, catalog_);
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
  wait_for(p, g.partitions.number(p), a.trigger, clock_.time_of(key) + a.for_us);
}

bool Matcher::states_allow(const Extra& x) const {
  return x.when.empty() || std::any_of(x.when.begin(), x.when.end(),
                                       [&](const StateGuard& g) { return (states_ & g.mask) == g.value; });
}

bool Matcher::is_time(const Extra& x, int64_t ts) const {
  return x.during.empty() || is_during(x.during, local_of(x).of(ts));
}

// Whether its limits let it fire now, which then counts.
bool Matcher::passes(uint16_t id, int64_t ts, const LimitKeys& keys) {
  Hot& hot = hot_[id];
  if (hot.extra != kNone && !extras_[hot.extra].limits.pass(ts, keys)) {
    ++stats_.suppressed;
    return false;
  }
  ++stats_.firings;
  ++hot.fired;
  hot.last_fired = ts;
  return true;
}

void Matcher::give_ended(const Event& e) {
  const auto partition_of = [&](const EndedMatch& m) -> const Partition& {
    return groups_[hot_[m.trigger].group]->partitions[m.partition];
  };
  order_.give_all([&](uint16_t trigger) { return hot_[trigger].order; },
                  [&](const EndedMatch& m) { return partition_of(m).key; },
                  [&](const EndedMatch& m) {
                    if (!passes(m.trigger, e.ts, limit_keys(hot_[m.trigger], e))) return;
                    give(m.trigger, e.ts, clock_.place_of(m.start), clock_.place_of(clock_.key),
                         &partition_of(m));
                  });
}

// `p`: null for timers. Of several keys each may fire at one event, or have one deadline.
void Matcher::give(uint16_t id, int64_t ts, const EventPlace& start, const EventPlace& last,
                   const Partition* p) {
  const Hot& hot = hot_[id];
  const uint64_t seq = clock_.last_seq;
  uint64_t name = base::mix(base::mix(hot.fingerprint, seq), static_cast<uint64_t>(ts));
  const MatchPlace place = p ? MatchPlace{groups_[hot.group]->scope, p->key} : MatchPlace{};
  if (place.key) name = base::mix(name, place.key);
  sink_->fired({.trigger = id,
                .start_nth = start.nth,
                .seq = seq,
                .ts = ts,
                .start_ts = start.ts,
                .last = last,
                .idempotency = name},
               place);
}

}  // namespace walle::stream
