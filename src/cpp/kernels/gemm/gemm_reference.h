// The matrix product as its definition says, for every arithmetic type: what the packed kernels are compared
// with, and what computes the integers. Floating point accumulates in double; integers wrap.
#pragma once

#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/activation_reference.h"

namespace walle::kernels {

// One row of integers by all of B, row by row of B, so that memory is read in its order and columns are
// vectors. Unsigned: overflow wraps as NumPy's does instead of being undefined, and the low bits are the same
// for signed operands; in 32 bits at least, because two uint16 are multiplied as int.
template <class T>
void integer_row(int64_t n, int64_t k, const T* a, const T* b, T* c) {
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  for (int64_t j = 0; j < n; ++j) c[j] = 0;
  for (int64_t l = 0; l < k; ++l, b += n) {
    const auto x = static_cast<Wide>(a[l]);
    for (int64_t j = 0; j < n; ++j)
      c[j] = static_cast<T>(static_cast<Wide>(c[j]) + x * static_cast<Wide>(b[j]));
  }
}

// C [m, n] = f(A [m, k] B [k, n] + bias + residual), all dense row-major. The epilogue is for float only.
template <class T>
void gemm_reference(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c, const Epilogue& e,
                    int threads) {
  constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  base::parallel_for(m, threads, [&](int64_t i) {
    if constexpr (kInteger) return integer_row(n, k, a + i * k, b, c + i * n);
    for (int64_t j = 0; j < n; ++j) {
      Sum sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += static_cast<Sum>(a[i * k + l]) * static_cast<Sum>(b[l * n + j]);
      if constexpr (std::is_same_v<T, float>) {
        if (e.row_bias) sum += e.row_bias[i];
        if (e.col_bias) sum += e.col_bias[j];
        if (e.residual) sum += e.residual[i * n + j];
        sum = activation_reference(e.activation, sum, e.alpha, e.beta);
      }
      c[i * n + j] = static_cast<T>(sum);
    }
  });
}

}  // namespace walle::kernels
