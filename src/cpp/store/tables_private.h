// Tables, private: what its sources share.
#pragma once

#include <deque>

#include "store/tables.h"

namespace walle::store {

// Consecutive rows as they came. Only the last one of a table grows, under the lock; the others are shared.
struct Tables::Chunk {
  uint64_t first = 0;
  uint32_t rows = 0;
  uint16_t columns = 0;
  std::string bytes;
};

struct Tables::Live {
  TableEntry entry;   // as in the manifest
  uint64_t next = 1;  // number of the next row
  std::deque<std::shared_ptr<Chunk>> waiting;
  bool closed = true;  // the last chunk does not grow: a checkpoint has it
  uint64_t waiting_rows = 0;
};

struct Tables::Snapshot {
  TableDecl decl;
  std::vector<SegmentEntry> segments;
  std::vector<std::shared_ptr<const Chunk>> chunks;
};

}  // namespace walle::store
