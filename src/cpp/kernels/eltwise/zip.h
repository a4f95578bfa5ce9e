// zip: the loop under the binary reference kernels, with the inner strides that occur in practice spelled out
// so that the compiler vectorises them.
#pragma once

#include "kernels/eltwise/broadcast.h"

namespace walle::kernels::detail {

template <class T, class R, class Fn>
void zip(const Broadcast& b, const T* x, const T* y, R* out, int64_t begin, int64_t end, Fn fn) {
  const int last = b.rank - 1;
  const int64_t sx = b.stride[0][last];
  const int64_t sy = b.stride[1][last];
  for_each_run(b, begin, end, [&](int64_t at, const std::array<int64_t, kMaxOperands>& offset, int64_t n) {
    const T* p = x + offset[0];
    const T* q = y + offset[1];
    R* o = out + at;
    // Dense with dense, matrix with scalar, scalar with matrix; the general form serves views.
    if (sx == 1 && sy == 1) {
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i], q[i]);
    } else if (sx == 1 && sy == 0) {
      const T right = *q;
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i], right);
    } else if (sx == 0 && sy == 1) {
      const T left = *p;
      for (int64_t i = 0; i < n; ++i) o[i] = fn(left, q[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) o[i] = fn(p[i * sx], q[i * sy]);
    }
  });
}

}  // namespace walle::kernels::detail
