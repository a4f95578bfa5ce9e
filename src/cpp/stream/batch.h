// Columns of rows in event time: what operators take and give.
#pragma once

#include <variant>

#include "stream/event.h"

namespace walle::stream {

using Cell = std::variant<std::monostate, int64_t, double, std::string>;  // absent, integer or boolean, float, text

struct Column {
  std::string name;
  Sensitivity sensitivity = Sensitivity::personal;
  std::vector<Cell> cells;
};

struct Batch {
  std::vector<int64_t> ts;      // us, one per row
  std::vector<Column> columns;  // each as long as ts

  size_t rows() const { return ts.size(); }
  int find(std::string_view name) const {
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace walle::stream
