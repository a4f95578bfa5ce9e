// Stream columns: rows as a task sees them.
#pragma once

#include "stream/operators/batch.h"
#include "vm/value.h"

namespace walle::container {

// {"ts": ..., name: ...}: a tensor where every row has a number (int64, float64 or bool, as the column is) or
// a vector of equal length (float32, one row each), else a list with None for what is absent.
Result<vm::Value> columns_value(const stream::Batch& rows);

}  // namespace walle::container
