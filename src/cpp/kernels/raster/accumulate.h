// The summing copy: dst[i.ds] += src[i.ss], in order on one
// thread, so that the result does not depend on threads.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "kernels/eltwise/integer_math.h"
#include "kernels/raster/box_copy.h"

namespace walle::kernels {

template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return wrap_add(a, b);
  else
    return a + b;
}

// combine(T& to, T from) for every index of the box.
template <class T, class Combine>
void combine_box(int rank, const int64_t* size, const T* src, const int64_t* src_stride, T* dst,
                 const int64_t* dst_stride, Combine&& combine) {
  const int last = rank - 1;
  const int64_t n = rank > 0 ? size[last] : 1;
  const int64_t ss = rank > 0 ? src_stride[last] : 0;
  const int64_t ds = rank > 0 ? dst_stride[last] : 0;
  std::array<int64_t, kBoxRank> index{};
  while (true) {
    for (int64_t i = 0; i < n; ++i) combine(dst[i * ds], src[i * ss]);
    int a = last - 1;
    for (; a >= 0; --a) {
      src += src_stride[a];
      dst += dst_stride[a];
      if (++index[a] < size[a]) break;
      src -= src_stride[a] * size[a];
      dst -= dst_stride[a] * size[a];
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

}  // namespace walle::kernels
