// All patterns of one scope as a shared-prefix trie, indexed by token (event@page, event@*, *@page, *@*).
//
// Each node keeps ONE slot {start, last}: the latest start among partial matches that end at this node, and the event
// that ended the newest of them. That is exact for windows, gaps and guards, because latest starts never decrease from
// one ending event to the next, and every such condition admits a suffix of the past: what the newest partial match
// fails, all older ones fail (docs/concepts/stream.md has the proof). Cost is the edges that carry an event's tokens.
//
// Times are keys: microseconds since the matcher's first event << kKeyShift, plus a running number within the
// microsecond, so that one comparison decides both order and time. 0 means "none".
//
// Not synchronised: one thread steps and changes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "stream/trigger_compile.h"

namespace walle::stream {

inline constexpr int kKeyShift = 10;
inline constexpr uint16_t kNone = 0xffff;

struct Slot {
  uint64_t start = 0, last = 0;
};

// State of one partition of a scope: the device has one, page and by(field) scopes one per kept key.
struct Partition {
  uint64_t key = 0;                // page instance or hash of the field's value; meaningless for the device
  uint64_t used = 0;               // event key of its newest event; 0: free
  uint64_t previous = 0;           // event key of the event before the current one
  std::vector<Slot> slots;         // by node
  std::vector<uint64_t> guards;    // by guard: its newest event
  std::vector<uint64_t> barriers;  // by trigger of the trie: matches must start behind it
};

// A predicate reference, resolved by the matcher once per event.
struct PredicateMemo {
  const Event* event = nullptr;
  const Catalog* catalog = nullptr;
  uint64_t stamp = 0;  // key of the current event
  std::vector<Predicate> predicates;
  std::vector<uint16_t> uses;
  std::vector<uint64_t> known;  // stamp << 1 | value
  bool holds(uint16_t p) {
    if (known[p] >> 1 == stamp) return known[p] & 1;
    const bool value = predicates[p].evaluate(*event, *catalog);
    known[p] = stamp << 1 | value;
    return value;
  }
  uint16_t intern(const Predicate& p);
  void release(uint16_t p);
  size_t memory_bytes() const;
};

struct ResolvedStep {  // a CompiledStep whose predicates are interned
  Follow follow;
  int64_t gap_us;
  std::vector<CompiledAtom> atoms, guard;
};

class Trie {
 public:
  // Edges of one token lie deepest first, then by class: a run of one class is one tight loop without branches that a
  // CPU would mispredict (measured: 2.1 times faster than one loop over mixed edges).
  struct Edge {
    uint16_t parent, node, gap, guard, predicate;  // parent, gap and guard 0: the root, no gap, no guard
    uint8_t order;                                 // depth << 4 | class
    uint8_t flags;
  };
  enum EdgeClass : uint8_t { kTerminal = 1, kConditional = 2, kSlow = 4 };  // kSlow: a predicate, or one of several tokens
  enum EdgeFlags : uint8_t { kStrict = 1, kSeveral = 2 };

  Trie();
  // Adds a chain for `trigger` (local number) with its window in key units, exclusive; shares every node that already exists. Error: the
  // node limit.
  Status add_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger, uint64_t within);
  void remove_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger);
  // A guard outside any edge (trailing absence); the caller reads its newest event from the partition.
  uint16_t add_guard(const std::vector<CompiledAtom>& atoms);
  void release_guard(uint16_t guard);

  // Steps `event` in `p`; calls complete(trigger, start) for every trigger one of whose chains ends here inside its
  // window and behind its barrier.
  template <class Complete>
  void step(uint16_t event, uint16_t page, uint64_t key, Partition& p, PredicateMemo& memo, Complete&& complete);

  size_t node_count() const { return nodes_.size() - 1 - free_nodes_.size(); }
  size_t node_capacity() const { return nodes_.size(); }
  size_t guard_capacity() const { return guard_uses_.size(); }
  const std::vector<uint16_t>& free_nodes() const { return free_nodes_; }
  const std::vector<uint16_t>& free_guards() const { return free_guards_; }
  size_t edge_count() const;
  size_t memory_bytes() const;
  // Nodes and guards by content, for snapshots: fingerprint -> number.
  std::vector<std::pair<uint64_t, uint16_t>> node_fingerprints(const PredicateMemo& memo) const;
  std::vector<std::pair<uint64_t, uint16_t>> guard_fingerprints(const PredicateMemo& memo) const;

 private:
  friend class TrieDump;
  struct Node {
    uint16_t uses = 0, terminal = kNone;
    uint8_t edges = 0, depth = 0;
  };
  struct Terminal {
    uint64_t within;
    uint16_t trigger, next;
  };
  struct GuardRef {
    uint16_t guard, predicate;
  };
  struct List {
    std::vector<Edge> edges;  // deepest first
    std::vector<GuardRef> guards;
    uint32_t token = 0;
  };

  static uint32_t token_of(const CompiledAtom& a) { return uint32_t{a.event} << 16 | a.page; }
  List* find_list(uint32_t token);
  const List* find_list(uint32_t token) const { return const_cast<Trie*>(this)->find_list(token); }
  List& list_for(uint32_t token);
  void index_list(uint32_t token, uint16_t list);
  uint16_t find_child(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard) const;
  uint16_t find_guard(const std::vector<CompiledAtom>& atoms) const;
  uint16_t intern_gap(int64_t gap_us);
  uint16_t new_node(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard, uint8_t depth);
  void free_node(uint16_t node, const ResolvedStep& s);
  static void place_edge(std::vector<Edge>& edges, const Edge& e);
  void update_terminal_class(uint16_t node, const ResolvedStep& s);
  // One run of edges of equal order, from `at`; returns the first edge behind it.
  template <bool terminal, bool conditional, bool slow, class Complete>
  const Edge* run(const Edge* at, const Edge* end, uint64_t key, Partition& p, PredicateMemo& memo, Complete&& complete) const;
  template <class Complete>
  const Edge* run_any(const Edge* at, const Edge* end, uint64_t key, Partition& p, PredicateMemo& memo, Complete&& complete) const;

  std::vector<Node> nodes_;
  std::vector<uint16_t> free_nodes_;
  std::vector<Terminal> terminals_;
  std::vector<uint16_t> free_terminals_;
  std::vector<uint16_t> guard_uses_;
  std::vector<uint16_t> guard_sizes_;
  std::vector<uint16_t> free_guards_;
  std::vector<uint64_t> gaps_;  // exclusive limits in key units; [0] holds for every time
  std::vector<List> lists_;
  std::vector<uint16_t> event_any_, any_page_;  // list numbers
  uint16_t any_any_ = kNone;
  std::vector<uint32_t> exact_tokens_;  // open addressing, power of two, 0xffffffff: free
  std::vector<uint16_t> exact_lists_;
  size_t exact_used_ = 0;
};

inline Trie::List* Trie::find_list(uint32_t token) {
  const uint16_t event = token >> 16, page = token & 0xffff;
  uint16_t at = kNone;
  if (event == kAny)
    at = page == kAny ? any_any_ : page < any_page_.size() ? any_page_[page] : kNone;
  else if (page == kAny)
    at = event < event_any_.size() ? event_any_[event] : kNone;
  else if (!exact_tokens_.empty()) {
    const size_t mask = exact_tokens_.size() - 1;
    for (size_t i = token * 0x9e3779b1u >> 7 & mask;; i = (i + 1) & mask) {
      if (exact_tokens_[i] == token) {
        at = exact_lists_[i];
        break;
      }
      if (exact_tokens_[i] == 0xffffffffu) break;
    }
  }
  return at == kNone ? nullptr : &lists_[at];
}

inline uint64_t key_time(uint64_t key) { return key >> kKeyShift << kKeyShift; }

template <bool terminal, bool conditional, bool slow, class Complete>
inline const Trie::Edge* Trie::run(const Edge* at, const Edge* end, uint64_t key, Partition& p, PredicateMemo& memo,
                                   Complete&& complete) const {
  Slot* const slots = p.slots.data();
  const uint8_t order = at->order;
  for (; at != end && at->order == order; ++at) {
    const Edge e = *at;
    const Slot parent = slots[e.parent];
    Slot& slot = slots[e.node];
    bool ok = parent.start != 0;
    if constexpr (conditional)
      ok = ok & ((e.flags & kStrict) == 0 || parent.last == p.previous) & (p.guards[e.guard] <= parent.last) &
           (key_time(key) - key_time(parent.last) < gaps_[e.gap]);
    if constexpr (slow) {
      // Another token of the same step may have matched already: once per event.
      if (!ok || ((e.flags & kSeveral) && slot.last == key) || (e.predicate != kNone && !memo.holds(e.predicate))) continue;
    }
    slot = {ok ? parent.start : slot.start, ok ? key : slot.last};
    if constexpr (terminal) {
      if constexpr (conditional) {
        if (!ok) continue;
      }
      for (uint16_t t = nodes_[e.node].terminal; t != kNone; t = terminals_[t].next) {
        const Terminal& done = terminals_[t];
        if ((parent.start > p.barriers[done.trigger]) & (key_time(key) - key_time(parent.start) < done.within))
          complete(done.trigger, parent.start);
      }
    }
  }
  return at;
}

template <class Complete>
inline const Trie::Edge* Trie::run_any(const Edge* at, const Edge* end, uint64_t key, Partition& p, PredicateMemo& memo,
                                       Complete&& complete) const {
  switch (at->order & 15) {
    case 0: return run<false, false, false>(at, end, key, p, memo, complete);
    case kTerminal: return run<true, false, false>(at, end, key, p, memo, complete);
    case kConditional: return run<false, true, false>(at, end, key, p, memo, complete);
    case kConditional | kTerminal: return run<true, true, false>(at, end, key, p, memo, complete);
    default:
      return at->order & kTerminal ? run<true, true, true>(at, end, key, p, memo, complete)
                                   : run<false, true, true>(at, end, key, p, memo, complete);
  }
}

template <class Complete>
void Trie::step(uint16_t event, uint16_t page, uint64_t key, Partition& p, PredicateMemo& memo, Complete&& complete) {
  const Edge* at[4];
  const Edge* end[4];
  int n = 0;
  for (const uint32_t token : {uint32_t{event} << 16 | page, uint32_t{event} << 16 | kAny, uint32_t{kAny} << 16 | page, 0xffffffffu}) {
    const List* l = find_list(token);
    if (!l) continue;
    for (const GuardRef& g : l->guards)
      if (g.predicate == kNone || memo.holds(g.predicate)) p.guards[g.guard] = key;
    if (l->edges.empty()) continue;
    at[n] = l->edges.data(), end[n] = at[n] + l->edges.size();
    ++n;
  }
  p.slots[0] = {key, key};  // the root has just matched: first steps are edges like all others
  if (n == 1) {
    for (const Edge* e = at[0]; e != end[0];) e = run_any(e, end[0], key, p, memo, complete);
    return;
  }
  // Several tokens: deepest first over all of them, so that no step sees a parent this very event has moved.
  while (n > 0) {
    int depth = 0;
    for (int i = 0; i < n; ++i) depth = std::max(depth, at[i]->order >> 4);
    for (int i = n; i-- > 0;) {
      while (at[i] != end[i] && at[i]->order >> 4 == depth) at[i] = run_any(at[i], end[i], key, p, memo, complete);
      if (at[i] == end[i]) --n, at[i] = at[n], end[i] = end[n];
    }
  }
}

}  // namespace walle::stream
