// ChainEdges: the edges of strict chains: patterns whose steps all follow at once and ask for nothing
// but one event on one page. A chain is fully determined by the newest tokens, so at most
// one node of each depth has just matched, and an edge is found by (node, token) where
// TokenLists would walk all edges of the token: 10,000 strict triggers over 200 tokens
// have 100 of those, of which 1 in 80 leads on (81 ns per event instead of 384).
//
// A dense vector, an open-addressing table of its places and a filter in front of it. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "stream/match/tight.h"
#include "stream/match/token_lists.h"

namespace walle::stream {

// In ten bytes: there is one for each step of a strict trigger.
struct ChainEdge {
  uint16_t event, page, parent;
  uint16_t node = kNone;      // for chains that go on
  uint16_t terminal = kNone;  // list of the trie's triggers whose chain ends here
  uint32_t token() const { return TokenLists::token(event, page); }
};

class ChainEdges {
 public:
  bool empty() const { return edges_.empty(); }
  size_t size() const { return edges_.size(); }
  const std::vector<ChainEdge>& all() const { return edges_; }

  // What `token` leads to; nullptr when nothing. Until the next change.
  const ChainEdge* find(uint16_t parent, uint64_t token) const {
    const size_t hash = slot_of(parent, token);
    // Read beside the filter, not behind it: 19.3 ns an event instead of 20.7 with 10,000 strict triggers.
    __builtin_prefetch(&index_[hash & mask_]);
    if (!may_have(hash)) [[likely]]
      return nullptr;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const uint16_t at = index_[i];
      if (at == kNone) return nullptr;
      if (edges_[at].parent == parent && edges_[at].token() == token) return &edges_[at];
    }
  }
  // Added if it is not there. Precondition: fewer than kNone edges.
  ChainEdge& get(uint16_t parent, uint32_t token);
  // When it leads to no node and ends no chain.
  void drop_if_unused(uint16_t parent, uint32_t token);
  size_t memory_bytes() const { return tight::bytes(edges_) + tight::bytes(index_) + tight::bytes(filter_); }

 private:
  // Two odd multipliers of well spread bits (2^64 over the golden ratio, and another), so that node and token
  // do not cancel; the top 24 bits, because those depend on all bits below.
  static size_t slot_of(uint16_t parent, uint64_t token) {
    return static_cast<size_t>((token * 0x9e3779b97f4a7c15 ^ parent * uint64_t{0xd6e8feb86659fd93}) >> 40);
  }
  // Eight bits a slot: an edge that is not there has its bit free in 15 of 16 cases or more.
  size_t bit_of(size_t hash) const { return hash & (mask_ * 8 + 7); }
  bool may_have(size_t hash) const { return filter_[bit_of(hash) / 64] >> bit_of(hash) % 64 & 1; }
  void put_in_index(size_t at);
  void index_all(size_t slots);

  std::vector<ChainEdge> edges_;
  std::vector<uint16_t> index_{kNone};  // a power of two, at most half full
  size_t mask_ = 0;                     // of index_
  // By bit_of(): most look-ups miss, and a miss in one look is foreseen (13.4 ns an event of 1,000
  // strict triggers instead of 15.9, in less memory than an index a quarter full).
  std::vector<uint64_t> filter_{0};
};

}  // namespace walle::stream
