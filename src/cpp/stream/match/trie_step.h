// Trie::step: the inner loop of matching. Included by those who step a trie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stream/match/trie.h"
#include "stream/match/value_token.h"

namespace walle::stream {

// The running number within the microsecond is cut off: windows and gaps are about time, order is decided by
// whole keys.
inline uint64_t key_time(uint64_t key) { return key >> kKeyShift << kKeyShift; }

// Conditions are computed without branches and slots written by selection: what an event does to an edge is
// as good as random, and a wrong guess costs more than an edge.
template <class Complete>
class Trie::Walk {
 public:
  Walk(const Trie& trie, uint64_t key, Partition& p, PredicateMemo& memo, const Complete& complete)
      : trie_(trie),
        limits_(trie.limits_.data()),
        slots_(p.slots),
        guards_(p.guards),
        barriers_(p.barriers),
        key_(key),
        previous_(p.previous),
        p_(p),
        memo_(memo),
        complete_(complete) {}
  // The same once more. What not every event comes to is out of line and gets a walk of its own: nobody has
  // the address of the one in step(), whose parts stay in registers or are never made. By reference: a copy
  // reads 16 bytes where 8 were just written, and waits (66 ns instead of 61 with 1,000 relaxed triggers).
  Walk again() const { return {trie_, key_, p_, memo_, complete_}; }

  void note_guards(std::span<const GuardRef> guards) {
    for (const GuardRef& g : guards)
      if (g.predicate == kNone || memo_.holds(g.predicate)) guards_[g.guard] = key_;
  }

  [[gnu::noinline]] static void note_late(Walk&& walk, uint16_t event, uint16_t page) {
    PredicateMemo& memo = walk.memo_;
    walk.trie_.late_.each(event, page, memo, [&](const LateNote& n) {
      walk.guards_[n.guard] = n.word(*memo.event, *memo.catalog, walk.key_);
    });
  }

  void ends(uint16_t list) {
    const std::span<const End> all = trie_.lists_.ends(list);
    // Few are looked at as if all had conditions, for the same reason as few edges.
    if (all.size() > kMixed) {
      const size_t free = trie_.lists_.free_ends(list);
      look<false>(all.first(free));
      return look<true>(all.subspan(free));
    }
    few(all);
  }
  void few(std::span<const End> ends) {
    for (const End& e : ends) {
      const Slot parent = slot(e.parent);
      if (holds<true>(e, parent)) [[unlikely]]
        tell_apart(again(), e.trigger, parent.start, e.plain != 0);
    }
  }

  // The triggers of a list of terminals.
  void finish(uint16_t first, uint64_t start) {
    // Nearly every end has one trigger, and those that share their whole pattern are few.
    for (uint16_t t = first; t != kNone; t = trie_.terminals_[t].next) {
      const Terminal& done = trie_.terminals_[t];
      if (in_time(done.trigger, done.within, start)) tell(done.trigger, start, done.plain);
    }
  }

  void all(std::span<const Edge> edges) {
    const Edge* at = edges.data();
    const Edge* const end = at + edges.size();
    if (edges.size() <= kMixed) {
      for (; at != end; ++at) mixed(*at);
    } else {
      while (at != end) at = run(at, end);
    }
  }

  // The lists of an event; gives how many there are. Guards of all are renewed before anything is asked,
  // because an event that is both guard and step counts for the guard first.
  [[gnu::noinline]] static size_t gather(Walk&& walk, uint16_t event, uint16_t page, uint16_t* lists) {
    size_t count = 0;
    walk.trie_.each_list(event, page, walk.memo_, [&](uint16_t list) {
      walk.note_guards(walk.trie_.lists_.guards(list));
      lists[count++] = list;
    });
    return count;
  }
  // Ends before edges: none sees a slot that this very event has moved.
  [[gnu::noinline]] static void several(Walk&& walk, std::span<const uint16_t> lists) {
    for (const uint16_t list : lists) walk.ends(list);
    if (lists.size() == 1)
      walk.all(walk.trie_.lists_.edges(lists[0]));
    else if (lists.size() > 1)
      walk.trie_.walk_by_depth(walk, lists);
  }
  // The one list of an event, but for its guards and its first step.
  [[gnu::always_inline]] inline void alone(uint16_t list) {
    const std::span<const End> own_ends = trie_.lists_.ends(list);
    const std::span<const Edge> edges = trie_.lists_.edges_but_first_step(list);
    if ((own_ends.size() > kMixed) | (edges.size() > kMixed)) return long_alone(again(), list);
    few(own_ends);
    for (const Edge& e : edges) mixed(e);
  }

  // What an event leads on to in a strict chain.
  struct Led {
    uint16_t node;
    uint64_t start;
  };

  // The strict chains, told by what the event before has reached: ends are told at once, `led` is put aside
  // until every other edge has been walked. Notes what this event reaches; `first_step` is what its own token
  // begins.
  size_t follow_chains(uint32_t token, uint16_t first_step, Led (&led)[kMaxSteps]) {
    size_t count = 0;
    size_t i = 0;
    // At least one: of nothing live the answer is no, and whether anything is would be a guess.
    const size_t lives = p_.lives;
    do {
      const uint16_t parent = p_.live[i];
      const ChainEdge* const e = trie_.chains_.find(parent, token);
      if (e == nullptr) continue;
      const Slot before = slot(parent);
      if ((before.last != previous_) | (before.start == 0)) continue;
      if (e->terminal != kNone) [[unlikely]]
        finish_apart(again(), e->terminal, before.start);
      if (e->node == kNone) continue;
      led[count] = {e->node, before.start};
      p_.live[count++] = e->node;  // behind the one that is read: `count` never passes `i`
    } while (++i < lives);
    // Of each depth at most one, and the deepest nodes are ends' parents: there is room for the first.
    p_.live[count] = first_step;
    p_.lives = static_cast<uint8_t>(count + (first_step != 0));
    return count;
  }

  void reach(uint16_t node, uint64_t start) { slots_[node] = {start, key_}; }

  // The edges of equal order from `at` on; returns the first edge behind them.
  const Edge* run(const Edge* at, const Edge* end) {
    switch (at->order & 15) {
      case 0: return loop<false>(at, end);
      case kConditional: return loop<true>(at, end);
      default:
        for (const uint8_t order = at->order; at != end && at->order == order; ++at) mixed(*at);
        return at;
    }
  }

 private:
  // Up to so many edges or ends of a token are walked in one mixed loop: choosing a loop per class would cost
  // a wrong guess per class. Longer lists run class by class.
  static constexpr size_t kMixed = 4;

  [[gnu::noinline]] static void long_alone(Walk&& walk, uint16_t list) {
    walk.ends(list);
    walk.all(walk.trie_.lists_.edges_but_first_step(list));
  }
  [[gnu::noinline]] static void finish_apart(Walk&& walk, uint16_t first, uint64_t start) {
    walk.finish(first, start);
  }
  [[gnu::noinline]] static void tell_apart(Walk&& walk, uint16_t trigger, uint64_t start, bool plain) {
    walk.tell(trigger, start, plain);
  }
  [[gnu::noinline]] static bool slow_apart(Walk&& walk, const Edge& e, const Slot& parent) {
    return walk.slow(e, parent);
  }

  bool conditions(bool strict, uint16_t guard, uint16_t gap, const Slot& parent) const {
    // & and |, not && and ||: all three are computed, none is branched on.
    return (!strict | (parent.last == previous_)) & (guards_[guard] <= parent.last) &
           (key_time(key_) - key_time(parent.last) < limits_[gap]);
  }
  bool conditions(const Edge& e, const Slot& parent) const {
    return conditions((e.flags & kStrict) != 0, e.guard, e.gap, parent);
  }

  // Another token of the same step may have matched already: once per event.
  bool slow_conditions(const Edge& e, const Slot& parent) {
    if ((e.flags & kSeveral) && slots_[e.node].last == key_) return false;
    const uint16_t rare = trie_.nodes_[e.node].rare;
    if (rare != kNone && !rare_conditions(trie_.rares_[rare], parent)) return false;
    if (e.predicate == kNone) return true;
    if (rare == kNone || trie_.rares_[rare].noted.empty()) return memo_.holds(e.predicate);
    return compares(e.predicate, trie_.rares_[rare]);
  }

  // With numbers of the step before: the answer is this partition's, not one for all who ask.
  bool compares(uint16_t predicate, const Rare& r) const {
    Value before[kMaxCaptures];
    for (size_t i = 0; i < r.captures.size(); ++i)
      before[i] = noted_value(guards_[r.noted[2 * i]], guards_[r.noted[2 * i + 1]]);
    return memo_.predicates[predicate].evaluate(*memo_.event, *memo_.catalog, before);
  }

  bool rare_conditions(const Rare& r, const Slot& parent) const {
    const uint64_t leading = guards_[r.leading];
    return key_time(key_) - key_time(parent.last) >= r.least && guards_[r.newest] <= parent.last &&
           (leading == 0 || key_time(key_) - key_time(leading) >= r.clear);
  }

  void mixed(const Edge& e) {
    const Slot parent = slot(e.parent);
    bool ok = (parent.start != 0) & conditions(e, parent);
    if (e.order & kSlow) [[unlikely]]
      ok = ok && slow_apart(again(), e, parent);
    set(slots_[e.node], parent, ok);
  }

  // Predicates are rare and evaluated at most once per event.
  bool slow(const Edge& e, const Slot& parent) {
    const bool ok = slow_conditions(e, parent);
    if (ok && (e.order & kTerminal)) finish(trie_.nodes_[e.node].terminal, parent.start);
    return ok;
  }

  template <bool conditional>
  bool holds(const End& e, const Slot& parent) const {
    bool ok = in_time(e.trigger, e.within, parent.start);
    if constexpr (conditional) ok &= conditions(e.strict, e.guard, e.gap, parent);
    return ok;
  }

  template <bool conditional>
  const Edge* loop(const Edge* at, const Edge* end) {
    // A copy, whose parts no slot that is written can be.
    const Walk own = *this;
    for (const uint8_t order = at->order; at != end && at->order == order; ++at) {
      const Edge& e = *at;
      const Slot parent = own.slot(e.parent);
      bool ok = parent.start != 0;
      if constexpr (conditional) ok &= own.conditions(e, parent);
      own.set(own.slots_[e.node], parent, ok);
    }
    return at;
  }

  // Ends that have come true, put aside while the others are looked at: who waits for them is looked up for
  // many at once, without a guess for each, of which few would be right.
  static constexpr size_t kEnds = 64;

  template <bool conditional>
  void look(std::span<const End> ends) {
    struct True {
      uint64_t start;
      uint16_t trigger;
      bool plain;
    } all[kEnds];
    const Walk own = *this;  // as in loop()
    while (!ends.empty()) {
      const std::span<const End> some = ends.first(std::min(ends.size(), kEnds));
      ends = ends.subspan(some.size());
      size_t count = 0;
      for (const End& e : some) {
        const Slot parent = own.slot(e.parent);
        all[count] = {parent.start, e.trigger, e.plain != 0};
        count += own.template holds<conditional>(e, parent);
      }
      // Again: another end of the same trigger may have raised its barrier.
      for (size_t i = 0; i < count; ++i)
        if (all[i].start > barriers_[all[i].trigger]) tell(all[i].trigger, all[i].start, all[i].plain);
    }
  }

  // No barrier lies below 0, which is the start of what never began.
  bool in_time(uint16_t trigger, uint16_t within, uint64_t start) const {
    return (start > barriers_[trigger]) & (key_time(key_) - key_time(start) < limits_[within]);
  }

  void tell(uint16_t trigger, uint64_t start, bool plain) {
    if (plain) barriers_[trigger] = key_;
    complete_(p_, key_, trigger, start, plain);
  }

  // Part by part: a copy of the whole would go through the stack.
  Slot slot(uint16_t node) const { return {slots_[node].start, slots_[node].last}; }

  void set(Slot& slot, const Slot& parent, bool ok) const {
    // By a mask: of `ok ? a : b` a compiler makes a branch where it takes one to be foreseen.
    const uint64_t mask = -static_cast<uint64_t>(ok);
    slot.start ^= (slot.start ^ parent.start) & mask;
    slot.last ^= (slot.last ^ key_) & mask;
  }

  const Trie& trie_;
  const uint64_t* const limits_;
  Slot* const slots_;
  uint64_t* const guards_;
  uint64_t* const barriers_;
  const uint64_t key_;
  const uint64_t previous_;
  Partition& p_;
  PredicateMemo& memo_;
  const Complete complete_;
};

template <class Visit>
void Trie::each_list(uint16_t event, uint16_t page, const PredicateMemo& memo, Visit&& visit) const {
  constexpr uint16_t any = kAny;
  const uint32_t tokens[] = {TokenLists::token(event, page), TokenLists::token(event, any),
                             TokenLists::token(any, page), TokenLists::token(any, any)};
  const std::span<const uint32_t> wanted(tokens, lists_.has_wildcards() ? std::size(tokens) : 1);
  for (const uint32_t token : wanted) {
    const uint16_t list = lists_.find(token);
    if (list != kNone) visit(list);
    if (!lists_.has_values()) continue;
    for (const TokenLists::FieldAt& f : lists_.fields_at(token)) {
      const Value* v = memo.event->field(*memo.catalog, f.field);
      const uint16_t with = v ? lists_.find(TokenLists::with_value(token, value_hash(f.field, *v))) : kNone;
      if (with != kNone) visit(with);
    }
  }
}

template <class Visit>
void Trie::under_way(const Partition& p, uint64_t now, Visit&& visit) const {
  each_end([&](uint16_t before, uint16_t trigger, uint16_t within) {
    for (uint16_t node = before; node != 0; node = nodes_[node].parent) {
      const uint64_t start = p.slots[node].start;
      if (start <= p.barriers[trigger] || key_time(now) - key_time(start) >= limits_[within]) continue;
      visit(trigger);
      break;
    }
  });
}

template <class Complete>
[[gnu::always_inline]] inline void Trie::step(uint16_t event, uint16_t page, uint64_t key, Partition& p,
                                              PredicateMemo& memo, bool begins, const Complete& complete) {
  Walk<Complete> walk(*this, key, p, memo, complete);
  const uint32_t exact = TokenLists::token(event, page);
  const uint16_t own = lists_.place(exact);
  const uint16_t first_step = lists_.first_step(own);
  // Of one list nothing is merged, and most have a first step alone. That one is written down below, whether
  // there is a list or none: which of them is as good as random, and so no branch.
  const bool alone = lists_.only_exact();
  const bool more = alone && lists_.has_more(own);
  uint16_t lists[kMostLists];
  size_t count = 0;
  if (!alone)
    count = Walk<Complete>::gather(walk.again(), event, page, lists);
  else if (more)
    walk.note_guards(lists_.guards(own));
  typename Walk<Complete>::Led led[kMaxSteps];
  const size_t chained = chains_.empty() ? 0 : walk.follow_chains(exact, first_step, led);
  // The root has just matched: first steps are edges like all others.
  p.slots[0] = begins ? Slot{key, key} : Slot{};
  if (more)
    walk.alone(own);
  else if (!alone)
    Walk<Complete>::several(walk.again(), {lists, count});
  for (size_t i = 0; i < chained; ++i) walk.reach(led[i].node, led[i].start);
  // Without a first step this is the root once more.
  if (alone && begins) walk.reach(first_step, key);
  // Behind all edges: the event is not its own predecessor.
  if (!late_.empty()) [[unlikely]]
    Walk<Complete>::note_late(walk.again(), event, page);
}

// Deepest first over all lists, so that no step sees a parent this very event has moved.
template <class Edges>
void Trie::walk_by_depth(Edges& walk, std::span<const uint16_t> lists) const {
  const Edge* at[kMostLists];
  const Edge* end[kMostLists];
  int n = 0;
  for (const uint16_t list : lists) {
    const std::span<const Edge> edges = lists_.edges(list);
    if (edges.empty()) continue;
    at[n] = edges.data();
    end[n] = at[n] + edges.size();
    ++n;
  }
  while (n > 0) {
    int depth = 0;
    for (int i = 0; i < n; ++i) depth = std::max(depth, at[i]->order >> 4);
    for (int i = n; i-- > 0;) {
      while (at[i] != end[i] && at[i]->order >> 4 == depth) at[i] = walk.run(at[i], end[i]);
      if (at[i] != end[i]) continue;
      --n;
      at[i] = at[n];
      end[i] = end[n];
    }
  }
}

}  // namespace walle::stream
