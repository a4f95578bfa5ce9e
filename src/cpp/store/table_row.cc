#include "store/table_row.h"

#include <cstring>

#include "base/utf8.h"
#include "tensor/table.h"

namespace walle::store {

namespace {
constexpr size_t kTimeBytes = sizeof(int64_t);
constexpr size_t kVarintBytes = 5;  // of a size below 2^32, at most

bool fits(ColumnType type, const Cell& c) {
  return c.type == type || (type == ColumnType::real && c.type == ColumnType::integer);
}

Error wrong_cell(const TableDecl& decl, size_t column, const Cell& given) {
  return argument_error({"a value of type ", column_type_name(given.type)},
                        {column_type_name(decl.columns[column].type), ", or nothing"},
                        {"column '", decl.columns[column].name, "' of result table '", decl.name, "'"},
                        "convert the value, or declare the column with the other type")
      .of_kind(base::ErrorKind::wrong_type);
}

Error too_large(const TableDecl& decl, size_t bytes) {
  return argument_error({"a row of ", bytes, " bytes or more"}, {"at most ", kMaxRowBytes},
                        {"result table '", decl.name, "'"}, "store what sums it up");
}

// The most that the row can take; an error for a cell that does not belong into its column.
Result<size_t> checked_size(const TableDecl& decl, tensor::Row cells) {
  size_t size = kTimeBytes + tensor::mark_bytes(decl.columns.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& c = cells[i];
    if (!c.present) continue;
    if (!fits(decl.columns[i].type, c)) return wrong_cell(decl, i, c);
    size += kTimeBytes;  // of a number; what a text's size takes is less
    if (!tensor::has_bytes(c.type)) continue;
    size += c.text.size();
    if (size > kMaxRowBytes) return too_large(decl, size);  // before a large text is looked through
    if (c.type == ColumnType::text && !base::valid_utf8(c.text))
      return argument_error("a text that is not UTF-8", "UTF-8",
                            {"column '", decl.columns[i].name, "' of result table '", decl.name, "'"},
                            "declare the column as bytes");
  }
  return size;
}

char* put_varint(char* to, uint32_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

char* put_cell(char* to, ColumnType type, const Cell& c) {
  if (type == ColumnType::boolean) {
    *to = static_cast<char>(c.i);
    return to + 1;
  }
  if (type == ColumnType::integer) {
    base::store_le(to, c.i);
    return to + sizeof c.i;
  }
  if (type == ColumnType::real) {
    base::store_le(to, *c.number());
    return to + sizeof c.d;
  }
  to = put_varint(to, static_cast<uint32_t>(c.text.size()));
  std::memcpy(to, c.text.data(), c.text.size());
  return to + c.text.size();
}

Cell read_cell(base::ByteReader& in, ColumnType type) {
  if (type == ColumnType::integer) return Cell::of(in.get<int64_t>());
  if (type == ColumnType::real) return Cell::of(in.get<double>());
  if (type == ColumnType::boolean) {
    const auto value = in.get<uint8_t>();
    if (value > 1) in.fail();
    return Cell::of(value == 1);
  }
  return Cell::of_bytes(in.bytes(in.varint()), type);
}
}  // namespace

Status add_row(const TableDecl& decl, int64_t ts_us, tensor::Row cells, TableRows& rows) {
  if (cells.size() > decl.columns.size())
    return argument_error({cells.size(), " values"}, {"at most ", decl.columns.size()},
                          {"result table '", decl.name, "'"}, "leave out what has no column");
  const auto columns = static_cast<uint16_t>(decl.columns.size());
  if (rows.rows > 0 && (rows.columns != columns || rows.table != decl.name))
    return argument_error({"rows of table '", rows.table, "' with ", rows.columns, " columns"},
                          "rows of one table with the columns it has now", {"result table '", decl.name, "'"},
                          "begin anew after declaring columns");
  WALLE_ASSIGN(const size_t most, checked_size(decl, cells));
  if (rows.rows == 0) {
    rows.table = decl.name;
    rows.columns = columns;
  }
  const size_t before = rows.bytes.size();
  // Grown by the most it can take and cut to what it took: one check of the capacity a row, not one a value.
  rows.bytes.resize(before + most + kVarintBytes);
  char* const start = rows.bytes.data() + before;
  base::store_le(start, ts_us);
  char* const mask = start + kTimeBytes;
  char* to = mask + tensor::mark_bytes(columns);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].present) continue;
    mask[i / 8] = static_cast<char>(mask[i / 8] | 1 << i % 8);
    to = put_cell(to, decl.columns[i].type, cells[i]);
  }
  rows.bytes.resize(before + static_cast<size_t>(to - start));
  ++rows.rows;
  return {};
}

bool RowReader::next() {
  if (!in_.ok() || in_.left() == 0) return false;
  ts_ = in_.get<int64_t>();
  const std::string_view mask = in_.bytes(tensor::mark_bytes(columns_.size()));
  cells_.assign(columns_.size(), Cell());
  for (size_t i = 0; i < columns_.size() && in_.ok(); ++i)
    if (tensor::marked(mask, i)) cells_[i] = read_cell(in_, columns_[i].type);
  return in_.ok();
}

}  // namespace walle::store
