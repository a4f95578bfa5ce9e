#include "stream/egress/ledger_entry.h"

#include "base/bytes.h"

namespace walle::stream {

// The feature's name takes what the task's leaves.
std::string pack_entry(const LedgerEntry& e) {
  base::ByteWriter out;
  out.put(e.ts);
  out.put(e.bytes);
  out.put(e.rows);
  out.put_text(e.task);
  out.put_bytes(e.feature);
  return out.take();
}

std::optional<LedgerEntry> read_entry(std::string_view bytes) {
  base::ByteReader r(bytes);
  LedgerEntry e;
  e.ts = r.get<int64_t>();
  e.bytes = r.get<int64_t>();
  e.rows = r.get<int64_t>();
  e.task = r.text();
  e.feature = r.rest();
  if (!r.ok()) return std::nullopt;
  return e;
}

}  // namespace walle::stream
