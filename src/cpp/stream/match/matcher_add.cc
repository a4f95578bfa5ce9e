// How triggers come and go: their chains into the tries, what few of them have beside it.
#include <algorithm>

#include "base/hash.h"
#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"
#include "stream/match/resolved_step.h"

namespace walle::stream {

namespace {
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

// Of several variants, an event may end more than one: with `every`, each would fire.
bool needs_extra(const CompiledTrigger& t) {
  const TriggerSpec& s = t.spec;
  return s.once || s.cooldown_us || s.rate || !t.when.empty() || s.timer != TimerKind::none ||
         !s.during.empty() || s.aggregate.kind != TriggerAggregateKind::none ||
         (s.every && t.variants.size() > 1);
}
}  // namespace

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

// The chains and the trailing absence of `t`; on an error nothing of it stays.
Status Matcher::add_to_trie(Group& g, const CompiledTrigger& t, uint16_t local, uint16_t id, Hot& hot) {
  // An aggregate asks for its window itself.
  const bool aggregate = t.spec.aggregate.kind != TriggerAggregateKind::none;
  const std::vector<uint16_t> predicates = intern_predicates(t, memo_);
  size_t added = 0;
  const auto undo = [&](Status s) {
    // Backwards over what succeeded; remove_chain() of a chain that add_chain() refused would remove another
    // task's.
    while (added-- > 0)
      g.trie.remove_chain(resolve_steps(t.variants[added], predicates, t.fingerprint, memo_), local);
    if (hot.absence != kNone) drop_absence(g, hot.absence);
    for (const uint16_t p : predicates) memo_.release(p);
    drop_counted(g, id);
    forget_free_numbers(g);
    return s;
  };
  if (aggregate && (t.by.page || t.by.session))
    tight::push(g.counted,
                Counted{.trigger = id, .atoms = resolve_atoms(t.variants[0][0].atoms, predicates, memo_)});
  // It fires, whatever else is, and not again for what started before.
  const bool plain = !t.spec.every && !needs_extra(t) && t.absent.empty();
  for (; added < t.variants.size(); ++added)
    if (Status s = g.trie.add_chain(resolve_steps(t.variants[added], predicates, t.fingerprint, memo_), local,
                                    key_limit(aggregate ? -1 : t.within_us[added]), plain);
        !s.ok())
      return undo(std::move(s));
  if (!t.absent.empty()) {
    auto guard = g.trie.add_guard(resolve_atoms(t.absent, predicates, memo_));
    if (!guard.ok()) return undo(guard.take_error());
    hot.absence = absences_.take();
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
  if (absence == kNone || !x.limits.has_keys()) return {};
  WALLE_ASSIGN(absences_[absence].keys,
               g.trie.take_cells(TriggerLimits::kMaxPerKey, base::mix(t.fingerprint, 2)));
  return {};
}

void Matcher::drop_counted(Group& g, uint16_t trigger) {
  std::erase_if(g.counted, [&](const Counted& c) { return c.trigger == trigger; });
}

void Matcher::drop_cells(Group& g, uint16_t first) {
  if (first != kNone) g.trie.release_cells(first);
}

uint16_t Matcher::add_extra(const CompiledTrigger& t) {
  const uint16_t extra = extras_.take();
  const TriggerSpec& s = t.spec;
  extras_[extra] = {.limits = TriggerLimits(t),
                    .when = t.when,
                    .during = s.during,
                    .timer = s.timer,
                    .timer_us = s.timer_us,
                    .local = t.local};
  if (s.aggregate.kind != TriggerAggregateKind::none)
    extras_[extra].aggregate = std::make_unique<AggregateTrigger>(t);
  return extra;
}

Result<uint16_t> Matcher::add(const CompiledTrigger& t) {
  // Ids are 16 bits and 0xffff means "none".
  if (live_triggers_ >= kNone - 1 || memo_.predicates.size() + t.predicates.size() >= kNone)
    return resource_error({"trigger number ", live_triggers_ + 1}, "at most 65534 triggers and predicates",
                          "matcher", "remove some first");
  if (order_.is_full(live_triggers_)) renumber();
  Hot hot;
  hot.live = true;
  hot.every = t.spec.every;
  hot.fingerprint = t.fingerprint;
  WALLE_ASSIGN(const uint16_t group, group_for(t));
  // 13 bits: it shares two bytes with three flags, which keeps what completing a match reads in one line.
  hot.group = group & (kMaxGroups - 1);
  Group& g = *groups_[group];
  const uint16_t id = hot_.take();
  hot.local = take_local(g.trigger_ids, id);
  // Scopes are shared: of those that ask for a number of keys, the largest holds.
  const size_t kept = g.partitions.most();
  g.partitions.keep(std::max(kept, static_cast<size_t>(t.spec.by_keep)));
  if (Status s = add_to_trie(g, t, hot.local, id, hot); !s.ok()) {
    g.trigger_ids[hot.local] = kNone;
    drop_last_free(g.trigger_ids);
    hot_.give_back(id);
    g.partitions.keep(kept);
    return s.take_error();
  }
  if (needs_extra(t)) hot.extra = add_extra(t);
  hot_[id] = hot;
  if (Status s = hot.extra == kNone ? Status() : take_cells(g, t, extras_[hot.extra], hot.absence); !s.ok()) {
    fit_partitions(g);
    ++live_triggers_;
    order_.count_ends(t, 1);
    remove(id, t);
    return s.take_error();
  }
  fit_partitions(g);
  for (Partition& p : g.partitions)
    if (p.taken) p.barriers[hot.local] = clock_.key;  // only what starts from now on
  hot_[id].order = order_.take_place();
  order_.count_ends(t, 1);
  if (g.scope != Scope::device) {
    tight::grow_to(g.evicted, g.trigger_ids.size());
    g.evicted[hot.local] = {};
  }
  ++live_triggers_;
  reserve_timers();
  if (t.spec.timer != TimerKind::none) start_timer(id, clock_.now);
  return id;
}

void Matcher::remove(uint16_t id, const CompiledTrigger& t) {
  if (id >= hot_.size() || !hot_[id].live) return;
  order_.count_ends(t, -1);
  Hot& hot = hot_[id];
  Group& g = *groups_[hot.group];
  const std::vector<uint16_t> predicates = intern_predicates(t, memo_);
  for (const auto& chain : t.variants)
    g.trie.remove_chain(resolve_steps(chain, predicates, t.fingerprint, memo_), hot.local);
  if (hot.absence != kNone) drop_absence(g, hot.absence);
  drop_counted(g, id);
  for (const uint16_t p : predicates) {  // the one just taken and the one of add()
    memo_.release(p);
    memo_.release(p);
  }
  if (hot.extra != kNone) {
    periodic_triggers_ -= extras_[hot.extra].has_period();
    drop_cells(g, extras_[hot.extra].cells);
    extras_.give_back(hot.extra);
  }
  // Before the id is free: a timer of the old trigger must not fire the new one.
  timers_.drop(id);
  idle_.drop(id);
  idle_.rewind_to(clock_.now - clock_.last_ts);
  g.trigger_ids[hot.local] = kNone;
  drop_last_free(g.trigger_ids);
  hot_.give_back(id);
  forget_free_numbers(g);
  --live_triggers_;
}

void Matcher::drop_absence(Group& g, uint16_t absence) {
  const Absence& a = absences_[absence];
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
  absences_.give_back(absence);
}

// Places without gaps, in the order that they have.
void Matcher::renumber() {
  std::vector<uint16_t> ids;
  for (size_t id = 0; id < hot_.size(); ++id)
    if (hot_[id].live) ids.push_back(static_cast<uint16_t>(id));
  std::ranges::sort(ids, {}, [&](uint16_t id) { return hot_[id].order; });
  order_.start_over();
  for (const uint16_t id : ids) hot_[id].order = order_.take_place();
  timers_.renumber([&](uint16_t trigger) { return hot_[trigger].order; });
}

}  // namespace walle::stream
