// Rows of a result table as columns: what a reader gets.
#pragma once

#include "store/table_row.h"

namespace walle::store {

// One of the three vectors is filled, by type, with a value for every row: 0 or "" where there is none.
struct ReadColumn {
  ColumnDecl decl;
  std::vector<uint8_t> present;  // one per row, 0 or 1
  std::vector<int64_t> ints;     // of i64 and bool
  std::vector<double> floats;
  std::vector<std::string> texts;  // of text and bytes
};

struct TableColumns {
  std::vector<uint64_t> numbers;  // of the rows, ascending; they start at 1 and are never used twice
  std::vector<int64_t> ts;        // us since 1970, by the device's clock when the row was made
  std::vector<ReadColumn> columns;

  size_t rows() const { return numbers.size(); }
};

}  // namespace walle::store
