// TokenLists: what one trie does at each token (event@page, event@*, *@page, *@*, each also with a value that
// a field of the event must have): its edges, the ends of chains and the guards it renews.
//
// All edges lie in one vector, token after token, and so do ends and guards: a list is 26 bytes, and nothing
// is reserved per token. Adding an edge moves the edges behind it and renumbers the lists behind it: a whole
// task takes 9 us among 1,000 and 19 us among 10,000, parsing included. Lists are found through an
// open-addressing table of list numbers; the list itself holds the token, so a look-up that hits reads what
// it needs next. List 0 has nothing: it is what a look-up that misses gives, without a branch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "stream/event/catalog.h"
#include "stream/match/tight.h"

namespace walle::stream {

inline constexpr uint16_t kNone = 0xffff;

// Edges of one token lie deepest first, then by class, those without one last: in a long list, a run of one
// class is one tight loop without branches that a CPU would mispredict (measured: 2.1 times faster than one
// loop over mixed edges).
struct Edge {
  uint16_t parent, node, gap, guard, predicate;  // parent, gap and guard 0: the root, no gap, no guard
  uint8_t order;                                 // depth << 4 | class
  uint8_t flags;
};
enum EdgeClass : uint8_t {
  kTerminal = 1,
  kConditional = 2,
  kSlow = 4,  // a predicate, or one of several tokens
};
enum EdgeFlags : uint8_t {
  kStrict = 1,
  kSeveral = 2,
};

struct GuardRef {
  uint16_t guard, predicate;
};

// A chain's last step on one token, with a gap and a guard at most. It has no node and no slot, because
// nothing goes on from it: a node's 26 bytes less, and what an event asks of it is its parent's slot and its
// trigger's barrier (1.4 times faster where many triggers end at a token).
struct End {
  uint16_t parent, guard, trigger;
  uint16_t gap : 15, strict : 1;
  uint16_t within : 15, plain : 1;  // window in the trie's limits; whether it fires, whatever else is
  bool conditional() const { return (guard | gap | strict) != 0; }
  friend bool operator==(const End&, const End&) = default;
};

// Not synchronised. Spans and list numbers hold until the next change.
class TokenLists {
 public:
  static constexpr size_t kMaxLists = kNone - 1;
  static constexpr uint32_t token(uint16_t event, uint16_t page) { return uint32_t{event} << 16 | page; }
  // `value`: ValueToken::hash; 0 for none.
  static constexpr uint64_t with_value(uint32_t token, uint32_t value) {
    return uint64_t{value} << 32 | token;
  }
  static constexpr uint32_t without_value(uint64_t token) { return static_cast<uint32_t>(token); }
  struct FieldAt {  // tokens with values of this field have been added
    uint32_t token;
    uint16_t field;
    friend auto operator<=>(const FieldAt&, const FieldAt&) = default;
  };

  TokenLists() : lists_(2), first_steps_(1), index_(1) {}

  // The list of a token, 0 when there is none. Whether there is one is as good as random where half of all
  // events matter to nobody, so the answer is computed and only a collision branches.
  uint16_t place(uint64_t token) const {
    for (size_t i = slot_of(token) & mask_;; i = (i + 1) & mask_) {
      const uint16_t at = index_[i];
      // By a mask: of `at == 0 | same` a compiler makes two branches (18 ns an event instead of 14 with 100
      // strict triggers).
      if (((lists_[at].token ^ token) & -uint64_t{at != 0}) == 0) [[likely]]
        return at;
    }
  }
  // kNone when there is none.
  uint16_t find(uint64_t token) const {
    const uint16_t at = place(token);
    return at == 0 ? kNone : at;
  }
  // Precondition: has_room(1), or the token is there already. Invalidates list numbers.
  uint16_t get(uint64_t token);
  void note_field(uint32_t token, uint16_t field);
  bool has_values() const { return !fields_.empty(); }
  std::span<const FieldAt> fields_at(uint32_t token) const {
    const auto first = std::lower_bound(fields_.begin(), fields_.end(), FieldAt{token, 0});
    auto last = first;
    while (last != fields_.end() && last->token == token) ++last;
    return {first, last};
  }
  bool has_room(size_t tokens) const { return size() - empty_lists() + tokens <= kMaxLists; }

  bool has_wildcards() const { return wildcards_; }
  // Whether an event has one list at most: nothing is asked for by wildcard or value.
  bool only_exact() const { return !wildcards_ && fields_.empty(); }
  size_t size() const { return lists_.size() - 1; }
  uint32_t token_of(uint16_t list) const { return without_value(lists_[list].token); }
  std::span<const Edge> edges(uint16_t list) const {
    return {edges_.data() + lists_[list].edges, edges_.data() + lists_[list + 1u].edges};
  }
  std::span<const GuardRef> guards(uint16_t list) const {
    return {guards_.data() + lists_[list].guards, guards_.data() + lists_[list + 1u].guards};
  }
  // Those without conditions first.
  std::span<const End> ends(uint16_t list) const {
    return {ends_.data() + lists_[list].ends, ends_.data() + lists_[list + 1u].ends};
  }
  size_t free_ends(uint16_t list) const { return lists_[list].free_ends; }
  // The node of the first step that asks for this token and nothing else; 0 for none. At most one has it, and
  // its edge is the last.
  uint16_t first_step(uint16_t list) const { return first_steps_[list]; }
  // Whether there is anything but that edge.
  bool has_more(uint16_t list) const { return lists_[list].more; }
  std::span<const Edge> edges_but_first_step(uint16_t list) const {
    return {edges_.data() + lists_[list].edges,
            edges_.data() + lists_[list + 1u].edges - (first_steps_[list] != 0)};
  }
  const std::vector<End>& all_ends() const { return ends_; }
  size_t edge_count() const { return edges_.size() + ends_.size(); }

  void add_edge(uint64_t token, const Edge& e);
  // The edge of `node` with this predicate; precondition: it is there.
  const Edge& edge_of(uint64_t token, uint16_t node, uint16_t predicate) const;
  // Moves it to its place when `terminal` changes its class.
  void set_terminal(uint64_t token, uint16_t node, uint16_t predicate, bool terminal);
  void add_end(uint64_t token, const End& e);
  // False where there is none.
  bool remove_end(uint64_t token, const End& e);
  void remove_edges(uint64_t token, uint16_t node);
  void add_guard(uint64_t token, const GuardRef& g);
  void remove_guard(uint16_t guard);

  size_t memory_bytes() const;

 private:
  struct List {
    uint64_t token = 0;
    uint32_t edges = 0, guards = 0, ends = 0;   // first of each; the next list's are behind the last
    uint32_t free_ends : 31 = 0, more : 1 = 0;  // how many of its ends have no condition; has_more()
  };
  // The high bits of the product: its low bits would not depend on the event, which lies above the page.
  static size_t slot_of(uint64_t token) {
    return static_cast<size_t>((token ^ token >> 32) * 0x9e3779b97f4a7c15 >> 40);
  }
  bool is_empty(size_t list) const;
  void sum_up(size_t list);
  size_t empty_lists() const;
  void drop_empty_lists();
  void index_all(size_t slots);
  size_t place_of(uint16_t list, const Edge& e) const;
  void erase_edge(uint16_t list, size_t at);

  std::vector<List> lists_;            // 0 has nothing; one more than there are: the end of the last
  std::vector<uint16_t> first_steps_;  // by list; beside each other, since most lists have nothing more
  std::vector<Edge> edges_;
  std::vector<GuardRef> guards_;
  std::vector<End> ends_;
  std::vector<FieldAt> fields_;  // sorted
  std::vector<uint16_t> index_;  // by hash of the token, a power of two, at most a quarter full
  size_t mask_ = 0;              // of index_
  bool wildcards_ = false;
};

}  // namespace walle::stream
