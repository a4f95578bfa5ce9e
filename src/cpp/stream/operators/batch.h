// Batch: columns of rows in event time: what operators take and give.
#pragma once

#include <optional>

#include "stream/event/event.h"
#include "tensor/table.h"

namespace walle::stream {

// A column of a batch. Personal unless somebody says otherwise: a forgotten label must not let data out.
struct Column {
  std::string name;
  Sensitivity sensitivity = Sensitivity::personal;
  tensor::Column cells = {};
  std::string path = {};  // how its values came about, "price > max"; empty: the column itself was given
};

struct Batch {
  std::vector<int64_t> ts;            // us, one per row
  std::vector<Column> columns;        // each as long as ts
  std::vector<int64_t> support = {};  // events that each row summarises; empty: one each

  size_t rows() const { return ts.size(); }
  int64_t support_of(size_t row) const { return support.empty() ? 1 : support[row]; }
  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].name == name) return i;
    return std::nullopt;
  }
  void reserve(size_t rows) {
    ts.reserve(rows);
    for (Column& column : columns) column.cells.reserve(rows);
  }
  // In place of the column of that name, or behind the others.
  void set(Column column) {
    if (const auto at = find(column.name))
      columns[*at] = std::move(column);
    else
      columns.push_back(std::move(column));
  }
};

}  // namespace walle::stream
