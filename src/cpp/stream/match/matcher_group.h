// Group: one scope's trie and its partitions; private to the matcher.
#pragma once

#include "stream/match/matcher.h"
#include "stream/match/partitions.h"

namespace walle::stream {

struct Matcher::Group {
  Scope scope = Scope::device;
  CompiledKey by;       // of a by() scope
  std::string by_text;  // as written
  Trie trie;
  std::vector<uint16_t> trigger_ids;  // local number -> trigger, kNone when free
  std::vector<uint16_t> absence_ids;  // place in a partition's row -> absence, kNone when free
  std::vector<Evicted> evicted;       // by local number; of scopes with keys
  std::vector<Counted> counted;       // of scopes of keys within a page or session
  Partitions partitions;

  RowShape shape() const {
    return {.nodes = trie.node_capacity(),
            .guards = trie.guard_capacity(),
            .triggers = trigger_ids.size(),
            .absences = absence_ids.size(),
            .chains = trie.has_chains()};
  }
};

}  // namespace walle::stream
