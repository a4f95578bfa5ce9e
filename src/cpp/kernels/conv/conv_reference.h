// Convolution as its definition says, for every arithmetic
// type. Floating point accumulates in double; integers wrap.
#pragma once

#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/activation_reference.h"
#include "kernels/conv/conv.h"

namespace walle::kernels {

template <class T>
using ConvSum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// One output before the epilogue.
template <class T>
ConvSum<T> conv_at(const ConvShape& s, const T* x, const T* w, int64_t n, int64_t m, int64_t oh, int64_t ow) {
  const int64_t cg = s.c / s.groups;
  // The first input channel of output channel m's group.
  const int64_t first = m / (s.m / s.groups) * cg;
  ConvSum<T> sum = 0;
  for (int64_t c = 0; c < cg; ++c)
    for (int64_t i = 0; i < s.kh; ++i) {
      const int64_t ih = oh * s.sh - s.pt + i * s.dh;
      if (ih < 0 || ih >= s.h) continue;
      for (int64_t j = 0; j < s.kw; ++j) {
        const int64_t iw = ow * s.sw - s.pl + j * s.dw;
        if (iw < 0 || iw >= s.w) continue;
        const T a = x[((n * s.c + first + c) * s.h + ih) * s.w + iw];
        const T b = w[((m * cg + c) * s.kh + i) * s.kw + j];
        sum += static_cast<ConvSum<T>>(a) * static_cast<ConvSum<T>>(b);
      }
    }
  return sum;
}

// Bias of type T (one per output channel) may be null; the rest of the epilogue is for float only.
template <class T>
void conv_reference(const ConvShape& s, const T* x, const T* w, const T* bias, const Epilogue& e, T* y,
                    int threads) {
  base::parallel_for(s.n * s.m, threads, [&](int64_t nm) {
    for (int64_t o = 0; o < s.oh * s.ow; ++o) {
      ConvSum<T> sum = conv_at(s, x, w, nm / s.m, nm % s.m, o / s.ow, o % s.ow);
      const int64_t at = nm * s.oh * s.ow + o;
      if (bias) sum += static_cast<ConvSum<T>>(bias[nm % s.m]);
      if constexpr (std::is_same_v<T, float>) {
        if (e.residual) sum += e.residual[at];
        sum = activation_reference(e.activation, sum, e.alpha, e.beta);
      }
      y[at] = static_cast<T>(sum);
    }
  });
}

}  // namespace walle::kernels
