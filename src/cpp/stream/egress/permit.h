// Permit: a send that the gate has let pass and that has not happened yet: its budget is set aside until it
// is applied or every copy of the permit is gone.
#pragma once

#include <memory>

#include "stream/egress/ledger_entry.h"

namespace walle::stream {

struct Permit {
  LedgerEntry entry;
  std::string bytes;   // pack_batch() of the rows
  std::string stream;  // of the outbox; the feature's name unless somebody chose another
  // Digest of the package whose question this is; empty: it is none. It travels with the task's name.
  std::string package;
  int64_t begun_ns = 0;  // trace_clock() of when it was asked for
  uint8_t priority = 5;  // 0 to 9; what is lower leaves a full outbox first
  std::shared_ptr<void> reservation;
};

}  // namespace walle::stream
