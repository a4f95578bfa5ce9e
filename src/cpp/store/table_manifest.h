// TableManifest: what the result tables of one folder must not forget, whatever happens to their other files:
// which tables and segments there are, which row numbers may have been given out, what has left and what is
// lost. Kept in a mirrored file (docs/reference/formats/tables.md).
#pragma once

#include "store/number_series.h"
#include "store/segment_manifest.h"
#include "store/table_decl.h"

namespace walle::store {

struct TableEntry {
  TableDecl decl;
  uint64_t since = 0;       // commits up to this number are none of this table: it was declared behind them
  NumberSeries numbers;     // of rows, as of the commit the manifest stands at
  uint64_t removed = 0;     // rows that size and age have taken
  uint64_t removed_to = 0;  // numbers up to here
  std::vector<SegmentEntry> segments;  // by number
};

struct TableManifest {
  uint64_t applied = 0;  // commits up to here are in the segments
  std::vector<TableEntry> tables;
  std::vector<Loss> losses;  // unacknowledged

  TableEntry* find(std::string_view name);
  std::string serialize() const;
  static std::optional<TableManifest> parse(std::string_view bytes);
};

}  // namespace walle::store
