#include "stream/match/chain_edges.h"

#include <algorithm>

namespace walle::stream {

void ChainEdges::put_in_index(size_t at) {
  const size_t mask = index_.size() - 1;
  size_t i = slot_of(edges_[at].parent, edges_[at].token) & mask;
  while (index_[i] != kNone) i = (i + 1) & mask;
  index_[i] = static_cast<uint16_t>(at);
}

void ChainEdges::index_all(size_t slots) {
  index_ = std::vector<uint16_t>(slots, kNone);
  for (size_t at = 0; at < edges_.size(); ++at) put_in_index(at);
}

void ChainEdges::add(const ChainEdge& e) {
  tight::push(edges_, e);
  // 16 slots at first, then doubled: most scopes have no strict chain at all and pay nothing.
  if (edges_.size() * 4 > index_.size()) return index_all(std::max<size_t>(16, index_.size() * 2));
  put_in_index(edges_.size() - 1);
}

// The table is made anew: an open-addressing table has no
// holes. 20 us with 10,000 edges, and removing is rare.
void ChainEdges::remove(uint16_t parent, uint64_t token) {
  std::erase_if(edges_, [&](const ChainEdge& e) { return e.parent == parent && e.token == token; });
  index_all(index_.size());
}

}  // namespace walle::stream
