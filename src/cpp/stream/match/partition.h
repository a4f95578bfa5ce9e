// Partition: the state of one partition of a scope: the device has one, page and by(field) scopes one per
// kept key.
#pragma once

#include <cstdint>

namespace walle::stream {

inline constexpr uint32_t kNoPartition = 0xffffffff;

struct Slot {
  uint64_t start = 0, last = 0;
};

struct Pending {  // an armed trailing absence
  uint64_t armed = 0, start = 0;
  bool queued = false;  // a timer of this partition waits, whether or not the absence is still armed
};

// A header in front of a row of a page (stream/match/partitions.h), whose parts it points to. Fields in order
// of size: thousands of keys have one each.
struct Partition {
  uint64_t key = 0;              // page instance or hash of the field's value; meaningless for the device
  uint64_t outer = 0;            // of keys within a page or session: what all of it share
  uint64_t previous = 0;         // event key of its newest event before the current one
  Slot* slots = nullptr;         // by node
  uint64_t* guards = nullptr;    // by guard: its newest event
  uint64_t* barriers = nullptr;  // by trigger of the trie: matches must start behind it
  Pending* pending = nullptr;    // by absence of the scope
  // Nodes of strict chains that the previous event reached,
  // deepest first. None while the trie has no chain edges.
  uint16_t* live = nullptr;
  uint32_t older = kNoPartition, newer = kNoPartition;  // neighbours in order of use
  uint32_t waits = 0;                                   // armed absences
  uint8_t lives = 0;
  bool taken = false;   // has a key
  bool closed = false;  // a page that has ended: nothing more is expected of it
};

}  // namespace walle::stream
