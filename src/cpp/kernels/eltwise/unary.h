// Element-wise functions of one operand: the reference kernels, one dense run at a time.
#pragma once

#include "tensor/kinds.h"

namespace walle::kernels {

// y[0, n) = kind(x[0, n)). y is boolean for is_nan and is_inf, else of `dtype`; may be x itself when the
// sizes agree. Precondition: defined_for(kind, dtype). unary.cc says which kind reads alpha and beta how.
void run_unary(UnaryKind kind, DType dtype, const UnaryParams& params, const void* x, void* y, int64_t n);

}  // namespace walle::kernels
