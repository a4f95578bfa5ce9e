// Select (ONNX Where): a copy of bits, so it serves every dtype by element size.
#pragma once

#include "kernels/eltwise/broadcast.h"

namespace walle::kernels {

// out[begin, end) = condition ? x : y. `b` has three operands: condition, x, y. element_size is 1, 2,
// 4, 8 or 16.
void run_select(const Broadcast& b, int64_t element_size, const bool* condition, const void* x, const void* y,
                void* out, int64_t begin, int64_t end);

}  // namespace walle::kernels
