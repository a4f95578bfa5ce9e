// The product of matrices, as NumPy's `@`.
#pragma once

#include "array/memory.h"

namespace walle::array {

// The last two axes are matrices, those before them broadcast; of one axis: a row on the left, a column on
// the right, and the axis that it stands for leaves the result. Integers wrap, booleans are joined by `and`
// and `or`; half floats are summed in float32. Long products end when the budget says so. Errors: rank 0,
// inner sizes that differ, shapes that do not broadcast; memory.
Result<Tensor> matmul(const Strided& x, const Strided& y, Budget& budget);

}  // namespace walle::array
