// Element-wise operators with broadcasting: the arithmetic of Python's data model as NumPy gives it to
// arrays, on the engine's kernels. Views are read where they lie; results are dense.
#pragma once

#include "array/memory.h"
#include "array/operand.h"
#include "array/operators.h"

namespace walle::array {

// At least one operand is an array. Errors: shapes that do not broadcast, numbers that the dtype cannot hold,
// operators that the dtype has not (kind wrong_type), integers to negative powers, memory.
Result<Tensor> binary(Binary op, const Operand& x, const Operand& y, Budget& budget);
Result<Tensor> unary(Unary op, const Strided& x, Budget& budget);

}  // namespace walle::array
