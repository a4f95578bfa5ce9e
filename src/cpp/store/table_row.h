// Rows of one table as bytes, as the redo journal and the waiting batch hold them, and back
// (docs/reference/formats/commits.md): packed once, where they are made, and copied from there on.
#pragma once

#include <span>

#include "store/table_decl.h"

namespace walle::store {

// One value on its way into or out of a row; texts borrow from whoever made it.
struct Cell {
  enum class Kind : uint8_t { absent, integer, real, boolean, text, bytes } kind = Kind::absent;
  int64_t integer = 0;  // and of a boolean: 0 or 1
  double real = 0;
  std::string_view text;  // and of bytes

  static Cell of(int64_t value) { return {.kind = Kind::integer, .integer = value, .text = {}}; }
  static Cell of(double value) { return {.kind = Kind::real, .real = value, .text = {}}; }
  static Cell of(bool value) { return {.kind = Kind::boolean, .integer = value ? 1 : 0, .text = {}}; }
  static Cell of(std::string_view value) { return {.kind = Kind::text, .text = value}; }
  static Cell of(const char* value) { return of(std::string_view(value)); }
  static Cell of_bytes(std::string_view value) { return {.kind = Kind::bytes, .text = value}; }
};

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

// Checks and appends one row, whose cells are by position; those left out are absent. An integer may stand
// in a column of floats. On an error `rows` is as it was. `rows.table` and `rows.columns` are set by the
// first row.
Status add_row(const TableDecl& decl, int64_t ts_us, std::span<const Cell> cells, TableRows& rows);

// Reads rows one after another. The cells of a row borrow from `bytes`.
class RowReader {
 public:
  RowReader(std::span<const ColumnDecl> columns, std::string_view bytes) : columns_(columns), in_(bytes) {}
  // False at the end, and where the bytes are none that add_row() writes; then ok() is false.
  bool next();
  bool ok() const { return in_.ok(); }
  int64_t ts() const { return ts_; }
  std::span<const Cell> cells() const { return cells_; }

 private:
  std::span<const ColumnDecl> columns_;
  base::ByteReader in_;
  int64_t ts_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace walle::store
