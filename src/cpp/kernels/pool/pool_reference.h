// Pooling as its definition says, for every arithmetic type.
// Means of floats accumulate in double, integer means truncate.
#pragma once

#include <limits>
#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/pool/pool.h"

namespace walle::kernels {

template <class T>
T pool_at(const PoolShape& s, const T* x, int64_t oh, int64_t ow) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  T best = std::is_floating_point_v<T> ? static_cast<T>(-std::numeric_limits<double>::infinity())
                                       : std::numeric_limits<T>::lowest();
  Sum sum = 0;
  for (int64_t i = 0; i < s.kh; ++i) {
    const int64_t ih = oh * s.sh - s.pt + i * s.dh;
    if (ih < 0 || ih >= s.h) continue;
    for (int64_t j = 0; j < s.kw; ++j) {
      const int64_t iw = ow * s.sw - s.pl + j * s.dw;
      if (iw < 0 || iw >= s.w) continue;
      const T v = x[ih * s.w + iw];
      // NaN wins and stays: nothing compares greater.
      if (v > best || v != v) best = v;
      sum += static_cast<Sum>(v);
    }
  }
  return s.mean ? static_cast<T>(sum / static_cast<Sum>(pool_divisor(s, oh, ow))) : best;
}

template <class T>
void pool_reference(const PoolShape& s, const T* x, T* y, int threads) {
  base::parallel_for(s.channels, threads, [&](int64_t c) {
    for (int64_t i = 0; i < s.oh; ++i)
      for (int64_t j = 0; j < s.ow; ++j) y[(c * s.oh + i) * s.ow + j] = pool_at(s, x + c * s.h * s.w, i, j);
  });
}

}  // namespace walle::kernels
