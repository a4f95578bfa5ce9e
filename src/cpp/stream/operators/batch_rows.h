// What operators do with rows and columns of batches.
#pragma once

#include "stream/operators/batch.h"

namespace walle::stream {

using Key = std::vector<Cell>;

Result<size_t> column_of(const Batch& batch, const std::string& name, std::string_view where);
Result<std::vector<size_t>> columns_of(const Batch& batch, const std::vector<std::string>& names,
                                       std::string_view where);
// Errors: a row's time, or a duration, outside what operators can count with; durations are not negative.
Status check_times(const Batch& batch, std::string_view where);
Status check_duration(int64_t us, std::string_view name, std::string_view where);
Key key_of(const Batch& batch, size_t row, const std::vector<size_t>& columns);
Batch empty_like(const Batch& batch);  // the same columns without rows
void copy_row(const Batch& from, size_t row, Batch& to);
Value value_of(const Cell& cell);  // borrows texts; vectors are no values
bool number_of(const Cell& cell, double& out);
// "price > max": the path of `column`, continued by what was done.
std::string path_through(const Column& column, std::string_view done);

}  // namespace walle::stream
