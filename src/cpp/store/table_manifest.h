// What the result tables of one folder must not forget, whatever happens to their other files: which tables
// and segments there are, which row numbers may have been given out, what has left and what is lost. Kept in
// a twin file (docs/reference/formats/tables.md).
#pragma once

#include "store/table_decl.h"

namespace walle::store {

// Numbers are stored: new ones are added behind.
enum class TableLossKind : uint8_t {
  journal,          // rows of commits that the journal no longer has
  damaged_segment,  // the file does not read
  missing_segment,  // the file is gone
  manifest,         // the record itself was lost: what it knew of losses is not known any more
};
std::string_view table_loss_name(TableLossKind kind);

// Rows between two numbers of a table that are gone.
struct TableLoss {
  TableLossKind kind = TableLossKind::journal;
  std::string table;
  uint64_t first = 0, last = 0;
  uint64_t rows = 0;
  bool exact = true;  // false: `rows` is the most that can be lost
  int64_t noticed_us = 0;
  std::string cause;

  bool operator==(const TableLoss&) const = default;
};

// Joins what overlaps, and everything where there are too many already.
void add_loss(std::vector<TableLoss>& losses, TableLoss loss);

struct TableSegment {
  uint64_t first = 0, last = 0;  // numbers of its rows
  uint64_t rows = 0;
  int64_t min_ts = 0, max_ts = 0;
  int64_t bytes = 0;  // of the file
};

struct TableEntry {
  TableDecl decl;
  uint64_t since = 0;       // commits up to this number are none of this table: it was declared behind them
  uint64_t next = 1;        // number of the next row, as of the commit the manifest stands at
  uint64_t reserved = 0;    // numbers up to here may have been given out since
  uint64_t floor = 1;       // no new row gets a number below: those are lost
  uint64_t removed = 0;     // rows that size and age have taken
  uint64_t removed_to = 0;  // numbers up to here
  std::vector<TableSegment> segments;  // by number
};

struct TableManifest {
  uint64_t applied = 0;  // commits up to here are in the segments
  std::vector<TableEntry> tables;
  std::vector<TableLoss> losses;  // unacknowledged

  TableEntry* find(std::string_view name);
  std::string serialize() const;
  static std::optional<TableManifest> parse(std::string_view bytes);
};

}  // namespace walle::store
