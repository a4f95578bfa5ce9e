#include "kernels/norm/determinant.h"

#include <algorithm>
#include <cmath>

namespace walle::kernels {

namespace {
double determinant(double* a, int64_t n) {
  double det = 1;
  for (int64_t col = 0; col < n; ++col) {
    int64_t pivot = col;
    for (int64_t row = col + 1; row < n; ++row)
      // Partial pivoting (Golub and Van Loan, "Matrix Computations"): without it a small leading
      // element magnifies rounding errors without bound.
      if (std::fabs(a[row * n + col]) > std::fabs(a[pivot * n + col])) pivot = row;
    // Exactly zero below as well: the matrix is singular, and the division that follows must not happen.
    if (a[pivot * n + col] == 0) return 0;
    if (pivot != col) {
      std::swap_ranges(a + pivot * n, a + pivot * n + n, a + col * n);
      det = -det;
    }
    det *= a[col * n + col];
    for (int64_t row = col + 1; row < n; ++row) {
      // The column below the pivot becomes 0; nobody reads it again.
      const double factor = a[row * n + col] / a[col * n + col];
      for (int64_t k = col; k < n; ++k) a[row * n + k] -= factor * a[col * n + k];
    }
  }
  return det;
}
}  // namespace

void run_determinant(DType dtype, int64_t batch, int64_t n, const void* x, void* y, double* scratch) {
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < batch; ++b) {
      const T* matrix = static_cast<const T*>(x) + b * n * n;
      std::copy(matrix, matrix + n * n, scratch);
      static_cast<T*>(y)[b] = static_cast<T>(determinant(scratch, n));
    }
  });
}

}  // namespace walle::kernels
