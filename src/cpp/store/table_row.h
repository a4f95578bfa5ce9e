// TableRows: rows of one table as bytes, as the redo journal and the waiting batch hold them, and back
// (docs/reference/formats/commits.md): packed once, where they are made, and copied from there on.
#pragma once

#include <span>

#include "store/table_decl.h"

namespace walle::store {

// Of one row, packed: what a table is for are results, and a commit must fit a quarter of its journal.
inline constexpr size_t kMaxRowBytes = 256 << 10;

// Rows that were checked against a declaration: `bytes` are those of `rows` rows, each with `columns` columns
// of the table named.
struct TableRows {
  std::string table;
  uint32_t rows = 0;
  uint16_t columns = 0;
  std::string bytes;
};

// The same, borrowed: of a frame.
struct TableRowsView {
  std::string_view table;
  uint32_t rows = 0;
  uint16_t columns = 0;
  std::string_view bytes;

  TableRowsView() = default;
  TableRowsView(std::string_view name, uint32_t count, uint16_t width, std::string_view packed)
      : table(name), rows(count), columns(width), bytes(packed) {}
  TableRowsView(const TableRows& r)  // NOLINT: implicit on purpose
      : table(r.table), rows(r.rows), columns(r.columns), bytes(r.bytes) {}
};

// Checks and appends one row. An integer may stand in a column of floats. On an error `rows` is as it was.
// `rows.table` and `rows.columns` are set by the first row.
Status add_row(const TableDecl& decl, int64_t ts_us, tensor::Row cells, TableRows& rows);

// Reads rows one after another. The cells of a row borrow from `bytes`.
class RowReader {
 public:
  RowReader(std::span<const ColumnDecl> columns, std::string_view bytes) : columns_(columns), in_(bytes) {}
  // False at the end, and where the bytes are none that add_row() writes; then ok() is false.
  bool next();
  bool ok() const { return in_.ok(); }
  int64_t ts() const { return ts_; }
  tensor::Row cells() const { return cells_; }

 private:
  std::span<const ColumnDecl> columns_;
  base::ByteReader in_;
  int64_t ts_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace walle::store
