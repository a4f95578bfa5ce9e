// Cells of rows, from and to what a task's code has.
#pragma once

#include "tensor/cell.h"
#include "vm/abi.h"
#include "vm/value.h"

namespace walle::container {

// Borrows from the value; an error of the kind wrong_type for a list, a dict, a tensor or a buffer. `column`
// appears in messages.
Result<Cell> cell_of(const wvm_value& value, std::string_view column);
Result<vm::Value> value_of(const Cell& cell);

}  // namespace walle::container
