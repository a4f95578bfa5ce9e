// TableDecl: what a result table holds: its name, its columns, and how much of it is kept.
//
// A table only grows: rows are appended and the oldest leave. Its columns only grow, too: a declaration may
// add columns behind those that are there, and rows from before have nothing in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "tensor/cell.h"

namespace walle::store {

inline constexpr size_t kMaxTableColumns = 64;
inline constexpr size_t kMaxTables = 1024;  // of one folder

struct ColumnDecl {
  std::string name;
  ColumnType type = ColumnType::integer;  // not a vector
  bool operator==(const ColumnDecl&) const = default;
};

struct TableDecl {
  std::string name;
  std::vector<ColumnDecl> columns;
  int64_t max_bytes = int64_t{1} << 20;  // of its segments, the newest of which stays whatever its size
  int64_t max_age_us = 0;                // of a segment's newest row; 0: rows do not grow too old

  std::optional<size_t> find(std::string_view column) const;
  bool operator==(const TableDecl&) const = default;
};

// Where a column stands; an error of kind no_such_key, with the nearest name, where there is none.
Result<size_t> column_at(const TableDecl& decl, std::string_view column);

Status check_table(const TableDecl& decl);
// Whether rows of `before` are rows of `after`; the error names the column that is not the same.
Status check_growth(const TableDecl& before, const TableDecl& after);

void put_table(base::ByteWriter& out, const TableDecl& decl);
// False: not what put_table() writes of a declaration that check_table() accepts.
bool read_table(base::ByteReader& in, TableDecl& out);

}  // namespace walle::store
