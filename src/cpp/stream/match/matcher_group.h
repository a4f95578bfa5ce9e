// One scope's trie and its partitions; private to the matcher.
#pragma once

#include "stream/match/matcher.h"

namespace walle::stream {

struct Matcher::Group {
  Scope scope = Scope::device;
  CompiledKey by;  // of a by() scope
  Trie trie;
  std::vector<uint16_t> trigger_ids;  // local number -> trigger, kNone when free
  std::vector<Partition> partitions;  // all allocated when the group is made
};

}  // namespace walle::stream
