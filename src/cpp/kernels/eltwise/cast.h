// Conversion between any two dtypes.
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

// to[0, n) = from[0, n). Floats to integers truncate, then wrap like C's integer conversion; NaN gives 0 and
// what int64 (or uint64) cannot hold gives its nearest bound. Non-zero, NaN included, is true. `saturate`
// concerns float8 and float8e8m0 only, `rounding` the latter. Integers below 8 bits keep the low bits, as the
// wider ones do. Precondition: both dtypes are defined; from and to do not overlap.
void run_cast(DType from_dtype, const void* from, DType to_dtype, void* to, int64_t n, bool saturate,
              tensor::PowerRounding rounding = tensor::PowerRounding::up);

}  // namespace walle::kernels
