// A choice between two operands by element, and limits to both sides.
#pragma once

#include "array/elementwise.h"

namespace walle::array {

// x where the condition is true (not 0), y elsewhere, as NumPy's where(). At least one of x and y is an
// array.
Result<Tensor> where(const Operand& condition, const Operand& x, const Operand& y, Budget& budget);

}  // namespace walle::array
