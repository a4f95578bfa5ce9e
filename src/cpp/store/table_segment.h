// Table segment: a run of rows of one table as a segment file and back (docs/reference/formats/tables.md). A
// file says everything that its rows need: a folder whose manifest is lost is read from its files alone.
#pragma once

#include "base/status.h"
#include "store/table_columns.h"

namespace walle::store {

// Gathers rows as columns; used up by finish(). One thread.
class TableSegmentBuilder {
 public:
  explicit TableSegmentBuilder(const TableDecl& decl);
  // Rows from packed bytes of `columns` columns, numbered from `first` on. False where the bytes are none of
  // this table: those before are in.
  bool add(uint64_t first, uint16_t columns, std::string_view bytes);
  void add(const TableColumns& rows);
  size_t rows() const { return rows_.rows(); }
  const TableColumns& columns() const { return rows_; }
  std::string finish() const;

 private:
  TableColumns rows_;
};

// Columns without rows, of the declared types.
TableColumns empty_columns(std::span<const ColumnDecl> columns);
// Rows of `from` between two positions, behind those of `to`; columns that `from` has not are absent.
void append_rows(TableColumns& to, const TableColumns& from, size_t begin, size_t end);

// The file's rows, with its own columns. Refuses any byte that finish() would not have written.
Result<TableColumns> read_table_segment(std::string_view bytes);

// "clicks.0000000000000001-00000000000000ff.wtab", and what such a name says.
std::string table_segment_name(std::string_view table, uint64_t first, uint64_t last);
struct TableSegmentName {
  std::string table;
  uint64_t first = 0, last = 0;
};
std::optional<TableSegmentName> parse_table_segment_name(std::string_view name);

}  // namespace walle::store
