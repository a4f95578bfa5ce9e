// Trie: all patterns of one scope as a shared-prefix trie, indexed by token (event@page, event@*, *@page,
// *@*).
//
// A node is a prefix that something goes on from; the last step of a pattern is an end that hangs on its
// token (stream/match/token_lists.h), unless it asks for more than a gap and a guard. Each node keeps ONE
// slot {start, last}: the latest start among partial matches that end at this node, and the event that ended
// the newest of them. That is exact for windows, gaps and guards, because latest starts never decrease from
// one ending event to the next, and every such condition admits a suffix of the past: what the newest partial
// match fails, all older ones fail (docs/concepts/stream.md has the proof). Cost is the edges that carry an
// event's tokens, less those of strict chains, which are found from the nodes that have just matched
// (stream/match/chain_edges.h).
//
// Times are keys: microseconds since the matcher's first event << kKeyShift, plus a running number within the
// microsecond, so that one comparison decides both order and time. 0 means "none".
//
// Not synchronised: one thread steps and changes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stream/match/chain_edges.h"
#include "stream/match/late_notes.h"
#include "stream/match/limit_table.h"
#include "stream/match/partition.h"
#include "stream/match/predicate_memo.h"
#include "stream/match/resolved_step.h"
#include "stream/match/token_lists.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

inline constexpr int kKeyShift = 10;  // 1,024 events in one microsecond

// A duration that may be reached, as the difference of key times that may not; -1: none.
inline constexpr uint64_t key_limit(int64_t us) {
  return us < 0 ? ~uint64_t{0} : (static_cast<uint64_t>(us) + 1) << kKeyShift;
}

class Trie {
 public:
  Trie();
  // Adds a chain for `trigger` (local number) with its window in key units, exclusive; shares every node that
  // already exists. Error: the node limit.
  // `plain`: see step().
  Status add_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger, uint64_t within, bool plain);
  void remove_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger);
  // A guard outside any edge (trailing absence); the caller reads its newest event from the partition.
  Result<uint16_t> add_guard(const std::vector<CompiledAtom>& atoms);
  void release_guard(uint16_t guard);

  // Steps `event` in `p`; calls complete(p, key, trigger, start, plain) for every trigger one of whose chains
  // ends here inside its window and behind its barrier, which rises to this event where the chain is plain.
  // `begins`: whether it may be a match's first event. Defined in stream/match/trie_step.h, which callers
  // include.
  template <class Complete>
  void step(uint16_t event, uint16_t page, uint64_t key, Partition& p, PredicateMemo& memo, bool begins,
            const Complete& complete);
  // Free numbers at the end are no longer counted by the capacities.
  void drop_last_free();

  size_t node_count() const { return nodes_.size() - 1 - free_nodes_.size(); }
  size_t node_capacity() const { return nodes_.size(); }
  size_t guard_capacity() const { return guards_.size(); }
  const std::vector<uint16_t>& free_nodes() const { return free_nodes_; }
  const std::vector<uint16_t>& free_guards() const { return free_guards_; }
  // Words in a row for a trigger's own use, in every partition among its guards: zero at first and when the
  // partition gives way, in snapshots under `name`. Error: the limit of guards.
  Result<uint16_t> take_cells(size_t count, uint64_t name);
  void release_cells(uint16_t first);
  size_t edge_count() const { return lists_.edge_count() + chains_.size(); }
  size_t memory_bytes() const;
  bool has_chains() const { return !chains_.empty(); }
  // Calls visit(trigger) for every chain of which `p` holds a part that may still be completed after `now`; a
  // trigger with several chains may be visited for each.
  template <class Visit>
  void under_way(const Partition& p, uint64_t now, Visit&& visit) const;
  // Fills `live` from the slots, after a snapshot was restored.
  void find_live(Partition& p) const;
  // No trigger but those that `fresh` names counts a match that starts where a node on its way was filled in
  // (`filled`, by node; 0 for none), or before.
  void raise_barriers(Partition& p, const std::vector<uint64_t>& filled,
                      const std::vector<bool>& fresh) const;
  // Nodes and guards by content, for snapshots: fingerprint -> number.
  std::vector<std::pair<uint64_t, uint16_t>> node_fingerprints(const PredicateMemo& memo) const;
  std::vector<std::pair<uint64_t, uint16_t>> guard_fingerprints(const PredicateMemo& memo) const;

 private:
  struct Node {
    uint16_t uses = 0, terminal = kNone,
             parent = 0;    // terminal: ends that are no End, since they ask for more
    uint16_t rare = kNone;  // into rares_
    uint8_t edges = 0;
    uint8_t depth : 4 = 0, chained : 1 = 0;  // all steps up to here are those of a strict chain
  };
  // Conditions that few steps have. Only edges of class kSlow ask for them.
  struct Rare {
    uint64_t least = 0;      // difference of key times that must be reached
    uint64_t clear = 0;      // ... and since the newest event of `leading`
    uint64_t salt = 0;       // names `leading`
    uint16_t newest = 0;     // guard: the newest event of the step before
    uint16_t leading = 0;    // guard: what must not have come before
    uint16_t owner = kNone;  // the trigger that has `leading` for itself: it began to look when added
    std::vector<CapturedField> captures = {};
    std::vector<uint16_t> noted = {};  // guards: type and bits of each of `captures`
  };
  struct Terminal {
    uint16_t within : 15, plain : 1;  // window in limits_
    uint16_t trigger, next;
  };
  struct Guard {
    uint16_t uses = 0, atoms = 0;
  };
  static uint64_t token_of(const CompiledAtom& a) {
    return TokenLists::with_value(TokenLists::token(a.event, a.page), a.value);
  }
  // Calls visit(list) for each list of the event's tokens, from the most to the least specific, and of its
  // values.
  template <class Visit>
  void each_list(uint16_t event, uint16_t page, const PredicateMemo& memo, Visit&& visit) const;
  void note_value(const CompiledAtom& a) {
    if (a.value) lists_.note_field(TokenLists::token(a.event, a.page), a.value_field);
  }
  bool chains_on(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard) const;
  Status check_room(const std::vector<ResolvedStep>& steps) const;
  uint16_t find_child(uint16_t parent, const ResolvedStep& s, const ResolvedStep* before, uint16_t gap,
                      uint16_t guard, uint16_t trigger) const;
  bool same_rare(uint16_t node, const ResolvedStep& s, const ResolvedStep* before, uint16_t trigger) const;
  bool notes_are(uint16_t guard, const std::vector<CompiledAtom>& atoms) const;
  uint16_t new_rare(const ResolvedStep& s, const ResolvedStep* before, uint16_t trigger);
  void free_rare(uint16_t rare);
  uint16_t find_late_guard(const std::vector<CompiledAtom>& atoms, const LateNote& kind) const;
  uint16_t take_late_guard(const std::vector<CompiledAtom>& atoms, const LateNote& kind, bool shared);
  uint16_t take_guard_number(size_t atoms);
  size_t rare_bytes() const;
  std::vector<uint64_t> late_salts() const;
  uint64_t rare_fingerprint(const Rare& r, const std::vector<uint64_t>& guards) const;
  uint16_t find_guard(const std::vector<CompiledAtom>& atoms) const;
  uint16_t take_guard(const std::vector<CompiledAtom>& atoms);
  uint16_t take_node();
  uint16_t new_node(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard, uint8_t depth,
                    uint16_t rare);
  void free_node(uint16_t parent, uint16_t node, const ResolvedStep& s);
  uint16_t use_node(uint16_t parent, const std::vector<ResolvedStep>& steps, size_t at, uint16_t trigger);
  uint16_t known_node(uint16_t parent, const std::vector<ResolvedStep>& steps, size_t at,
                      uint16_t trigger) const;
  bool hangs_on_chain(uint16_t parent, const ResolvedStep& last) const;
  static bool is_end(const ResolvedStep& s);
  void add_end(uint16_t parent, const ResolvedStep& last, uint16_t trigger, uint64_t within, bool plain);
  bool remove_end(uint16_t parent, const ResolvedStep& last, uint16_t trigger);
  void push_terminal(uint16_t& first, uint16_t trigger, uint64_t within, bool plain);
  bool drop_terminal(uint16_t& first, uint16_t trigger);
  void update_terminal_class(uint16_t node, const ResolvedStep& s);
  // Calls visit(node before the last step, trigger, window).
  template <class Visit>
  void each_end(Visit&& visit) const;

  static constexpr size_t kMostLists = 4 + 4 * kMaxFields;
  template <class Edges>
  void walk_by_depth(Edges& walk, std::span<const uint16_t> lists) const;
  template <class Complete>
  class Walk;  // one event through one partition: stream/match/trie_step.h

  std::vector<Node> nodes_;
  std::vector<uint16_t> free_nodes_;
  std::vector<Terminal> terminals_;
  std::vector<uint16_t> free_terminals_;
  std::vector<Guard> guards_;
  std::vector<uint16_t> free_guards_;
  LateNotes late_;
  std::vector<Rare> rares_;
  std::vector<uint16_t> free_rares_;
  struct Cells {
    uint16_t first = 0, count = 0;
    uint64_t name = 0;
  };
  std::vector<Cells> cells_;
  LimitTable limits_;  // gaps and windows, exclusive, in key units
  TokenLists lists_;
  ChainEdges chains_;
};

template <class Visit>
void Trie::each_end(Visit&& visit) const {
  for (const End& e : lists_.all_ends()) visit(e.parent, e.trigger, e.within);
  const auto each = [&](uint16_t parent, uint16_t first) {
    for (uint16_t t = first; t != kNone; t = terminals_[t].next)
      visit(parent, terminals_[t].trigger, terminals_[t].within);
  };
  for (const ChainEdge& e : chains_.all()) each(e.parent, e.terminal);
  for (const Node& n : nodes_) each(n.parent, n.terminal);
}

}  // namespace walle::stream
