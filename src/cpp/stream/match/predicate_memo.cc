#include "stream/match/predicate_memo.h"

#include "stream/match/tight.h"

namespace walle::stream {

uint16_t PredicateMemo::intern(const Predicate& p) {
  // Compared whole, one after another: adding a task may take microseconds, and a table of hashes would cost
  // memory per task.
  for (size_t i = 0; i < predicates.size(); ++i)
    if (uses[i] && predicates[i] == p) {
      ++uses[i];
      return static_cast<uint16_t>(i);
    }
  size_t at = 0;
  while (at < uses.size() && uses[at]) ++at;
  if (at == uses.size()) {
    tight::push(predicates, Predicate());
    tight::push(uses, 0u);
    tight::push(known, uint64_t{0});
  }
  predicates[at] = p;
  uses[at] = 1;
  // Stamp 0 is no event's: the predicate that had this number before leaves no answer.
  known[at] = 0;
  return static_cast<uint16_t>(at);
}

void PredicateMemo::release(uint16_t p) {
  if (--uses[p] == 0) predicates[p] = Predicate();
}

size_t PredicateMemo::memory_bytes() const {
  size_t total = tight::bytes(predicates) + tight::bytes(uses) + tight::bytes(known);
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
