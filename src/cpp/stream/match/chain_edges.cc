#include "stream/match/chain_edges.h"

#include <algorithm>

namespace walle::stream {

void ChainEdges::put_in_index(size_t at) {
  const size_t hash = slot_of(edges_[at].parent, edges_[at].token());
  filter_[bit_of(hash) / 64] |= uint64_t{1} << bit_of(hash) % 64;
  size_t i = hash & mask_;
  while (index_[i] != kNone) i = (i + 1) & mask_;
  index_[i] = static_cast<uint16_t>(at);
}

void ChainEdges::index_all(size_t slots) {
  index_ = std::vector<uint16_t>(slots, kNone);
  mask_ = slots - 1;
  filter_ = std::vector<uint64_t>((slots + 7) / 8);
  for (size_t at = 0; at < edges_.size(); ++at) put_in_index(at);
}

ChainEdge& ChainEdges::get(uint16_t parent, uint32_t token) {
  if (const ChainEdge* known = find(parent, token)) return edges_[static_cast<size_t>(known - edges_.data())];
  tight::push(edges_, ChainEdge{.event = static_cast<uint16_t>(token >> 16),
                                .page = static_cast<uint16_t>(token),
                                .parent = parent});
  // 16 slots at first, then doubled: most scopes have no strict chain at all and pay nothing.
  if (edges_.size() * 2 > index_.size())
    index_all(std::max<size_t>(16, index_.size() * 2));
  else
    put_in_index(edges_.size() - 1);
  return edges_.back();
}

// The table is made anew: an open-addressing table has no
// holes. 20 us with 10,000 edges, and removing is rare.
void ChainEdges::drop_if_unused(uint16_t parent, uint32_t token) {
  const ChainEdge& e = get(parent, token);
  if (e.node != kNone || e.terminal != kNone) return;
  edges_.erase(edges_.begin() + (&e - edges_.data()));
  index_all(index_.size());
}

}  // namespace walle::stream
