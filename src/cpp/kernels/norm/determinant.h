// Determinants of a batch of square matrices.
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

// y[b] = det(x[b]) for `batch` matrices of n x n, by elimination
// with partial pivoting in double. `scratch`: n * n doubles.
void run_determinant(DType dtype, int64_t batch, int64_t n, const void* x, void* y, double* scratch);

}  // namespace walle::kernels
