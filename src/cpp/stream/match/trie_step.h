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
  Walk(const Trie& trie, uint64_t key, Partition& p, PredicateMemo& memo, Complete& complete)
      : trie_(trie),
        limits_(trie.limits_.data()),
        slots_(p.slots),
        guards_(p.guards),
        key_(key),
        p_(p),
        memo_(memo),
        complete_(complete) {}

  void note_guards(std::span<const GuardRef> guards) {
    for (const GuardRef& g : guards)
      if (g.predicate == kNone || memo_.holds(g.predicate)) guards_[g.guard] = key_;
  }

  // What may begin no match is also nothing that must not come before one.
  void note_late(uint16_t event, uint16_t page, bool begins) {
    trie_.late_.each(event, page, memo_, [&](const LateNote& n) {
      if (begins || !n.leading) guards_[n.guard] = n.word(*memo_.event, *memo_.catalog, key_);
    });
  }

  const PredicateMemo& memo() const { return memo_; }

  void ends(const TokenLists& lists, uint16_t list) {
    const std::span<const End> all = lists.ends(list);
    const size_t free = lists.free_ends(list);
    look<false>(all.first(free));
    look<true>(all.subspan(free));
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
    if (end - at <= kMixedEdges) {
      for (; at != end; ++at) mixed(*at);
    } else {
      while (at != end) at = run(at, end);
    }
  }

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
  // Up to so many edges of a token are walked in one mixed loop: choosing a loop per class would cost a wrong
  // guess per class. Longer lists run class by class.
  static constexpr ptrdiff_t kMixedEdges = 4;

  bool conditions(bool strict, uint16_t guard, uint16_t gap, const Slot& parent) const {
    // & and |, not && and ||: all three are computed, none is branched on.
    return (!strict | (parent.last == p_.previous)) & (guards_[guard] <= parent.last) &
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
    const Slot parent = slots_[e.parent];
    bool ok = (parent.start != 0) & conditions(e, parent);
    Slot& slot = slots_[e.node];
    if (e.order & kSlow) [[unlikely]] {
      // Predicates are rare and evaluated at most once per event.
      ok = ok && slow_conditions(e, parent);
      if (ok && (e.order & kTerminal)) finish(trie_.nodes_[e.node].terminal, parent.start);
    }
    set(slot, parent, ok);
  }

  template <bool conditional>
  const Edge* loop(const Edge* at, const Edge* end) {
    for (const uint8_t order = at->order; at != end && at->order == order; ++at) {
      const Edge& e = *at;
      const Slot parent = slots_[e.parent];
      bool ok = parent.start != 0;
      if constexpr (conditional) ok &= conditions(e, parent);
      set(slots_[e.node], parent, ok);
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
    while (!ends.empty()) {
      const std::span<const End> some = ends.first(std::min(ends.size(), kEnds));
      ends = ends.subspan(some.size());
      size_t count = 0;
      for (const End& e : some) {
        const Slot parent = slots_[e.parent];
        bool ok = in_time(e.trigger, e.within, parent.start);
        if constexpr (conditional) ok &= conditions(e.strict, e.guard, e.gap, parent);
        all[count] = {parent.start, e.trigger, e.plain != 0};
        count += ok;
      }
      // Again: another end of the same trigger may have raised its barrier.
      for (size_t i = 0; i < count; ++i)
        if (all[i].start > p_.barriers[all[i].trigger]) tell(all[i].trigger, all[i].start, all[i].plain);
    }
  }

  // No barrier lies below 0, which is the start of what never began.
  bool in_time(uint16_t trigger, uint16_t within, uint64_t start) const {
    return (start > p_.barriers[trigger]) & (key_time(key_) - key_time(start) < limits_[within]);
  }

  void tell(uint16_t trigger, uint64_t start, bool plain) {
    if (plain) p_.barriers[trigger] = key_;
    complete_(trigger, start, plain);
  }

  void set(Slot& slot, const Slot& parent, bool ok) const {
    slot = {ok ? parent.start : slot.start, ok ? key_ : slot.last};
  }

  const Trie& trie_;
  const uint64_t* const limits_;
  Slot* const slots_;
  uint64_t* const guards_;
  const uint64_t key_;
  Partition& p_;
  PredicateMemo& memo_;
  Complete& complete_;
};

inline Edge Trie::chain_edge(uint16_t parent, uint16_t node) const {
  return {.parent = parent,
          .node = node,
          .gap = 0,
          .guard = 0,
          .predicate = kNone,
          .order = static_cast<uint8_t>(nodes_[node].depth << 4 | kConditional),
          .flags = kStrict};
}

// The chain edges that lead on from what the previous event reached, deepest first, and the ends there; notes
// what this event reaches. `list` holds the token's first steps.
inline void Trie::follow_chains(uint32_t token, uint16_t list, Partition& p, Chained& found) const {
  for (size_t i = 0; i < p.lives; ++i) {
    const uint16_t parent = p.live[i];
    const ChainEdge* const e = chains_.find(parent, token);
    if (e == nullptr || p.slots[parent].last != p.previous) continue;
    if (e->terminal != kNone) found.ends[found.end_count++] = {parent, e->terminal};
    if (e->node != kNone) found.edges[found.count++] = chain_edge(parent, e->node);
  }
  for (size_t i = 0; i < found.count; ++i) p.live[i] = found.edges[i].node;
  p.lives = static_cast<uint8_t>(found.count);
  if (list == kNone) return;
  const auto edges = lists_.edges(list);
  for (size_t i = edges.size(); i-- > 0 && edges[i].order >> 4 == 0;)
    if (nodes_[edges[i].node].chained && p.lives < kMaxSteps) p.live[p.lives++] = edges[i].node;
}

template <class Visit>
void Trie::each_list(uint16_t event, uint16_t page, const PredicateMemo& memo, Visit&& visit) const {
  constexpr uint16_t any = kAny;
  for (const uint32_t token : {TokenLists::token(event, page), TokenLists::token(event, any),
                               TokenLists::token(any, page), TokenLists::token(any, any)}) {
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
void Trie::step(uint16_t event, uint16_t page, uint64_t key, Partition& p, PredicateMemo& memo, bool begins,
                Complete&& complete) {
  Walk walk(*this, key, p, memo, complete);
  p.slots[0] =
      begins ? Slot{key, key} : Slot{};  // the root has just matched: first steps are edges like all others
  walk_edges(walk, event, page, p);
  // Behind all edges: the event is not its own predecessor.
  if (!late_.empty()) [[unlikely]]
    walk.note_late(event, page, begins);
}

template <class Edges>
void Trie::walk_edges(Edges& walk, uint16_t event, uint16_t page, Partition& p) const {
  const uint16_t exact = lists_.find(TokenLists::token(event, page));
  Chained chained;
  if (!chains_.empty()) follow_chains(TokenLists::token(event, page), exact, p, chained);
  const bool alone = !lists_.has_wildcards() && !lists_.has_values();
  if (alone && chained.count + chained.end_count == 0) {
    if (exact == kNone) return;
    walk.note_guards(lists_.guards(exact));
    walk.ends(lists_, exact);
    walk.all(lists_.edges(exact));
    return;
  }
  // A list for each of an event's tokens, and one for each of its values at each of them; the chain edges.
  constexpr size_t kLists = 4 + 4 * kMaxFields;
  uint16_t lists[kLists];
  const Edge* at[1 + kLists];
  const Edge* end[1 + kLists];
  int n = 0;
  const auto add = [&](std::span<const Edge> edges) {
    if (edges.empty()) return;
    at[n] = edges.data();
    end[n] = at[n] + edges.size();
    ++n;
  };
  add({chained.edges, chained.count});
  // Guards of all lists are renewed before anything is asked, because an event that is both guard and step
  // counts for the guard first.
  size_t count = 0;
  each_list(event, page, walk.memo(), [&](uint16_t list) {
    walk.note_guards(lists_.guards(list));
    add(lists_.edges(list));
    lists[count++] = list;
  });
  // Ends before edges: none sees a slot that this very event has moved.
  for (size_t i = 0; i < chained.end_count; ++i)
    walk.finish(chained.ends[i].terminal, p.slots[chained.ends[i].parent].start);
  for (size_t i = 0; i < count; ++i) walk.ends(lists_, lists[i]);
  if (n == 1) return walk.all({at[0], end[0]});
  // Several tokens: deepest first over all of them, so that no step sees a parent this very event has moved.
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
