#include "stream/match/predicate_memo.h"

#include "base/hash.h"
#include "stream/match/tight.h"

namespace walle::stream {

namespace {
constexpr uint16_t kEmpty = 0xffff;

// Of what equal predicates are equal in.
uint32_t hash_of(const Predicate& p) {
  base::Hasher h;
  for (const Predicate::Node& n : p.nodes) {
    h.value(n.op).value(n.left).value(n.right).text(n.field);
    // + 0.0: both zeros are equal.
    for (const Literal& l : n.literals) h.value(l.type).value(l.i).value(l.d + 0.0).text(l.text);
  }
  return static_cast<uint32_t>(h.finish());
}
}  // namespace

uint16_t PredicateMemo::find(const Predicate& p, uint32_t hash) const {
  if (index_.empty()) return kEmpty;
  const size_t mask = index_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const uint16_t at = index_[i];
    if (at == kEmpty || (hashes_[at] == hash && predicates[at] == p)) return at;
  }
}

void PredicateMemo::put_in_index(uint16_t at) {
  const size_t mask = index_.size() - 1;
  size_t i = hashes_[at] & mask;
  while (index_[i] != kEmpty) i = (i + 1) & mask;
  index_[i] = at;
}

// Those behind move up, so that the table has no holes.
void PredicateMemo::drop_from_index(uint16_t at) {
  const size_t mask = index_.size() - 1;
  size_t hole = hashes_[at] & mask;
  while (index_[hole] != at) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; index_[i] != kEmpty; i = (i + 1) & mask) {
    const size_t home = hashes_[index_[i]] & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;  // the hole lies before its home
    index_[hole] = index_[i];
    hole = i;
  }
  index_[hole] = kEmpty;
}

uint16_t PredicateMemo::take_number() {
  if (!free_.empty()) {
    const uint16_t at = free_.back();
    free_.pop_back();
    return at;
  }
  tight::push(predicates, Predicate());
  tight::push(uses, 0u);
  tight::push(known, uint64_t{0});
  tight::push(hashes_, 0u);
  return static_cast<uint16_t>(predicates.size() - 1);
}

uint16_t PredicateMemo::intern(const Predicate& p) {
  const uint32_t hash = hash_of(p);
  if (const uint16_t known_at = find(p, hash); known_at != kEmpty) {
    ++uses[known_at];
    return known_at;
  }
  const uint16_t at = take_number();
  predicates[at] = p;
  uses[at] = 1;
  // Stamp 0 is no event's: the predicate that had this number before leaves no answer.
  known[at] = 0;
  hashes_[at] = hash;
  if ((predicates.size() - free_.size()) * 2 <= index_.size()) {
    put_in_index(at);
    return at;
  }
  index_ = std::vector<uint16_t>(index_.empty() ? 16 : index_.size() * 2, kEmpty);
  for (size_t i = 0; i < predicates.size(); ++i)
    if (uses[i]) put_in_index(static_cast<uint16_t>(i));
  return at;
}

void PredicateMemo::release(uint16_t p) {
  if (--uses[p]) return;
  drop_from_index(p);
  predicates[p] = Predicate();
  tight::push(free_, p);
}

size_t PredicateMemo::memory_bytes() const {
  size_t total = tight::bytes(predicates) + tight::bytes(uses) + tight::bytes(known) + tight::bytes(hashes_) +
                 tight::bytes(free_) + tight::bytes(index_);
  for (const Predicate& p : predicates) {
    total += tight::bytes(p.nodes);
    for (const auto& n : p.nodes) {
      total += tight::bytes(n.literals) + tight::bytes(n.field);
      for (const auto& l : n.literals) total += tight::bytes(l.text);
    }
  }
  return total;
}

}  // namespace walle::stream
