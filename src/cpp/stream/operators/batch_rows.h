// Batch rows: what operators do with rows and columns of batches.
#pragma once

#include "stream/operators/batch.h"
#include "stream/operators/by_column.h"

namespace walle::stream {

using Key = std::vector<Scalar>;

Result<size_t> column_of(const Batch& batch, std::string_view name, Text where);
Result<std::vector<size_t>> columns_of(const Batch& batch, const std::vector<std::string>& names, Text where);
// Errors: a row's time, or a duration, outside what operators can count with; durations are not negative.
Status check_times(const Batch& batch, Text where);
Status check_duration(int64_t us, std::string_view name, std::string_view where);
Key key_of(const Batch& batch, size_t row, const std::vector<size_t>& columns);
// The same in the memory of a key that is no longer asked for.
void set_key(Key& key, const Batch& batch, size_t row, const std::vector<size_t>& columns);
Batch empty_like(const Batch& batch);  // the same columns without rows
// To a batch that is empty_like(from).
void copy_row(const Batch& from, size_t row, Batch& to);
// Of a column, and a value that it cannot hold: a text among numbers.
Error wrong_cell(const Column& column, const Cell& given, std::string_view where);
// Puts a value behind the others.
inline void put(Column& to, const Cell& cell) {
  // Whoever does not know the types of what comes asks add_cell() or ColumnKinds.
  if (!to.cells.push_back(cell)) to.cells.push_absent();
}
Status add_cell(Column& column, const Cell& cell, std::string_view where);

// Types of an operator's columns, which it remembers from batch to batch: a column that holds numbers never
// holds texts.
class ColumnKinds {
 public:
  Status check(const Batch& in, Text where);

 private:
  ByColumn<ColumnType> types_;
};

// "price > max": the path of `column`, continued by what was done.
std::string path_through(const Column& column, std::string_view done);

}  // namespace walle::stream
