#include "stream/match/token_lists.h"

#include <algorithm>

namespace walle::stream {

namespace {
bool is_wildcard(uint64_t token) { return (token >> 16 & 0xffff) == kAny || (token & 0xffff) == kAny; }
// Deepest first, and within a depth by class, those without one last: a list ends with its first step.
int rank(const Edge& e) { return (15 - (e.order >> 4)) << 4 | ((e.order - 1) & 15); }
}  // namespace

bool TokenLists::is_empty(size_t list) const {
  const List& a = lists_[list];
  const List& b = lists_[list + 1];
  return a.edges == b.edges && a.guards == b.guards && a.ends == b.ends;
}

// What of it an event that asks for little has to know.
void TokenLists::sum_up(size_t list) {
  List& a = lists_[list];
  const List& b = lists_[list + 1];
  const Edge* const last = b.edges > a.edges ? &edges_[b.edges - 1] : nullptr;
  // Depth 0 and no class: one token, no condition, no predicate.
  first_steps_[list] = last != nullptr && last->order == 0 ? last->node : uint16_t{0};
  a.more = b.edges - a.edges > (first_steps_[list] != 0) || b.guards > a.guards || b.ends > a.ends;
}

size_t TokenLists::empty_lists() const {
  size_t n = 0;
  for (size_t l = 0; l + 1 < lists_.size(); ++l) n += is_empty(l);
  return n;
}

void TokenLists::drop_empty_lists() {
  size_t kept = 1;  // the one that has nothing stays
  wildcards_ = false;
  for (size_t l = 1; l + 1 < lists_.size(); ++l) {
    if (is_empty(l)) continue;
    wildcards_ |= is_wildcard(lists_[l].token);
    first_steps_[kept] = first_steps_[l];
    lists_[kept++] = lists_[l];
  }
  first_steps_.resize(kept);
  lists_[kept++] = lists_.back();
  lists_.resize(kept);
}

void TokenLists::index_all(size_t slots) {
  // A new vector, not assign(): capacity is what memory_bytes() counts.
  index_ = std::vector<uint16_t>(slots);
  mask_ = slots - 1;
  for (size_t l = 1; l + 1 < lists_.size(); ++l) {
    size_t i = slot_of(lists_[l].token) & mask_;
    while (index_[i] != 0) i = (i + 1) & mask_;
    index_[i] = static_cast<uint16_t>(l);
  }
}

uint16_t TokenLists::get(uint64_t token) {
  if (const uint16_t known = find(token); known != kNone) return known;
  const bool full = lists_.size() * 4 > index_.size();
  if (full) drop_empty_lists();  // tasks that came and went leave some
  // The end marker is doubled: the new list lies before it and is empty.
  tight::push(lists_, lists_.back());
  tight::push(first_steps_, uint16_t{0});
  List& added = lists_[lists_.size() - 2];
  added = {.token = token, .edges = added.edges, .guards = added.guards, .ends = added.ends};
  wildcards_ |= is_wildcard(token);
  const auto at = static_cast<uint16_t>(size() - 1);
  if (full) {
    index_all(std::max<size_t>(16, lists_.size() * 4 > index_.size() ? index_.size() * 2 : index_.size()));
    return at;
  }
  size_t i = slot_of(token) & mask_;
  while (index_[i] != 0) i = (i + 1) & mask_;
  return index_[i] = at;
}

// Never removed: an event that finds nothing there has looked up one value in vain.
void TokenLists::note_field(uint32_t token, uint16_t field) {
  const FieldAt noted{token, field};
  const auto at = std::lower_bound(fields_.begin(), fields_.end(), noted);
  if (at != fields_.end() && *at == noted) return;
  const auto place = at - fields_.begin();
  tight::make_room(fields_);
  fields_.insert(fields_.begin() + place, noted);
}

size_t TokenLists::place_of(uint16_t list, const Edge& e) const {
  const auto own = edges(list);
  // Linear within the token: ordering matters to step(), which runs per event, not to adding, which runs per
  // task.
  const auto behind = std::find_if(own.begin(), own.end(), [&](const Edge& o) { return rank(o) > rank(e); });
  return behind - own.begin() + lists_[list].edges;
}

void TokenLists::add_edge(uint64_t token, const Edge& e) {
  const uint16_t list = get(token);
  tight::make_room(edges_);
  edges_.insert(edges_.begin() + static_cast<ptrdiff_t>(place_of(list, e)), e);
  // One increment per later list: 10,000 tokens are 40 KB of reading, a few microseconds.
  for (size_t l = list + 1u; l < lists_.size(); ++l) ++lists_[l].edges;
  sum_up(list);
}

void TokenLists::erase_edge(uint16_t list, size_t at) {
  edges_.erase(edges_.begin() + static_cast<ptrdiff_t>(at));
  for (size_t l = list + 1u; l < lists_.size(); ++l) --lists_[l].edges;
  sum_up(list);
}

const Edge& TokenLists::edge_of(uint64_t token, uint16_t node, uint16_t predicate) const {
  const auto own = edges(find(token));
  return *std::find_if(own.begin(), own.end(),
                       [&](const Edge& e) { return e.node == node && e.predicate == predicate; });
}

void TokenLists::set_terminal(uint64_t token, uint16_t node, uint16_t predicate, bool terminal) {
  const Edge& old = edge_of(token, node, predicate);
  // A copy: erasing moves what `old` points to.
  Edge e = old;
  // The class is part of the place: an edge that becomes terminal moves within its list.
  e.order = static_cast<uint8_t>((e.order & ~kTerminal) | (terminal ? kTerminal : 0));
  if (e.order == old.order) return;
  erase_edge(find(token), &old - edges_.data());
  add_edge(token, e);
}

void TokenLists::remove_edges(uint64_t token, uint16_t node) {
  const uint16_t list = find(token);
  // A node may have several edges at one token, with different predicates.
  for (size_t at = lists_[list].edges; at < lists_[list + 1u].edges;)
    if (edges_[at].node == node)
      erase_edge(list, at);
    else
      ++at;
}

// Behind the others of its class: the ends of one trigger are asked in the order of its variants, whatever
// other triggers there are.
void TokenLists::add_end(uint64_t token, const End& e) {
  const uint16_t list = get(token);
  const size_t place = e.conditional() ? lists_[list + 1u].ends : lists_[list].ends + lists_[list].free_ends;
  tight::make_room(ends_);
  ends_.insert(ends_.begin() + static_cast<ptrdiff_t>(place), e);
  if (!e.conditional()) ++lists_[list].free_ends;
  for (size_t l = list + 1u; l < lists_.size(); ++l) ++lists_[l].ends;
  sum_up(list);
}

bool TokenLists::remove_end(uint64_t token, const End& e) {
  const uint16_t list = find(token);
  if (list == kNone) return false;
  const auto last = ends_.begin() + lists_[list + 1u].ends;
  const auto at = std::find(ends_.begin() + lists_[list].ends, last, e);
  if (at == last) return false;
  ends_.erase(at);
  if (!e.conditional()) --lists_[list].free_ends;
  for (size_t l = list + 1u; l < lists_.size(); ++l) --lists_[l].ends;
  sum_up(list);
  return true;
}

void TokenLists::add_guard(uint64_t token, const GuardRef& g) {
  const uint16_t list = get(token);
  tight::make_room(guards_);
  guards_.insert(guards_.begin() + lists_[list + 1u].guards, g);
  for (size_t l = list + 1u; l < lists_.size(); ++l) ++lists_[l].guards;
  sum_up(list);
}

void TokenLists::remove_guard(uint16_t guard) {
  size_t kept = 0, at = 0;
  for (size_t l = 0; l + 1 < lists_.size(); ++l) {
    const size_t end = lists_[l + 1].guards;
    lists_[l].guards = static_cast<uint32_t>(kept);
    for (; at < end; ++at)
      if (guards_[at].guard != guard) guards_[kept++] = guards_[at];
  }
  lists_.back().guards = static_cast<uint32_t>(kept);
  guards_.resize(kept);
  for (size_t l = 1; l + 1 < lists_.size(); ++l) sum_up(l);
}

size_t TokenLists::memory_bytes() const {
  return tight::bytes(lists_) + tight::bytes(first_steps_) + tight::bytes(edges_) + tight::bytes(guards_) +
         tight::bytes(ends_) + tight::bytes(index_) + tight::bytes(fields_);
}

}  // namespace walle::stream
