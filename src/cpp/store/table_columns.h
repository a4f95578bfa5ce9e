// TableColumns: rows of a result table as columns: what a reader gets.
#pragma once

#include "store/table_decl.h"
#include "tensor/table.h"

namespace walle::store {

struct TableColumn {
  ColumnDecl decl;
  tensor::Column cells;
};

struct TableColumns {
  std::vector<uint64_t> numbers;  // of the rows, ascending; they start at 1 and are never used twice
  std::vector<int64_t> ts;        // us since 1970, by the device's clock when the row was made
  std::vector<TableColumn> columns;

  size_t rows() const { return numbers.size(); }
};

}  // namespace walle::store
