// LedgerEntry: one send as the ledger writes it down: docs/reference/formats/egress.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walle::stream {

struct LedgerEntry {
  int64_t ts = 0, bytes = 0, rows = 0;
  std::string task, feature;
};

std::string pack_entry(const LedgerEntry& entry);
std::optional<LedgerEntry> read_entry(std::string_view bytes);

}  // namespace walle::stream
