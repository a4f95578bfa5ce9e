// Element-wise functions of two operands with broadcasting: the reference kernels.
#pragma once

#include "kernels/eltwise/broadcast.h"
#include "tensor/kinds.h"

namespace walle::kernels {

// out[begin, end) of a dense result. Integers wrap; division by zero gives 0; Min and Max pass NaN on, as
// NumPy does. Precondition: defined_for(kind, dtype); `b` has two operands.
void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end);

namespace detail {
void run_arithmetic(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                    int64_t begin, int64_t end);
void run_compare(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end);
void run_bits(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
              int64_t begin, int64_t end);
}  // namespace detail

}  // namespace walle::kernels
