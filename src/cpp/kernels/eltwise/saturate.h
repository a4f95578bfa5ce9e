// Whole floats to the integers of few bits that quantised values are.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace walle::kernels {

// Whether `to` is an integer of at most 16 bits and `from` a float that is computed with.
bool can_saturate(DType from, DType to);

// to[0, n) = from[0, n), what `to` cannot hold as its nearest bound and NaN as its lowest number: what ONNX
// Runtime gives for every dtype and instruction set. Fractions are cut off. Precondition: can_saturate(from,
// to); from and to do not overlap.
void run_saturate(DType from_dtype, const void* from, DType to_dtype, void* to, int64_t n);

}  // namespace walle::kernels
