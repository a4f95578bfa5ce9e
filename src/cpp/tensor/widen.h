// float16 and bfloat16 as float32, many at once. Exact: float32 holds every number of both, and NaN stays
// NaN.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace walle::tensor {

// `halves` lie at any address. Precondition: `from` is float16 or bfloat16.
void widen(DType from, const std::byte* halves, float* out, int64_t count);

}  // namespace walle::tensor
