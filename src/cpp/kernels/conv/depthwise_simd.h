// Depthwise windows over an image as it lies: rows and columns of padding are lanes that read as zero, not
// memory. Only conv_simd.cc includes this.
//
// Some rows of outputs at once, a vector of columns each. A column of the window is loaded from all the rows
// they read and meets its weights in registers: 18 loads and 9 broadcasts for the 36 multiply-adds of 3 x 3
// over 4 rows. Planes of padded input, which other windows use, took 15 to 26 % of the time and 59 to 76 %
// with a stride of 2 (Zen 4).
#pragma once

#include "kernels/conv/conv_table.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Whether all that some rows and a vector of columns read lies in the image: then plain loads, else masked
// ones for the columns, or for both.
enum class Reach { all, rows, some };

// A row from `p` on: kLanes values with stride 1; with stride 2 those of the even and of the odd columns.
template <int S, Reach kInside>
inline __attribute__((always_inline)) void load_columns(const float* p, const Lanes (&which)[S], vf (&x)[S]) {
  if constexpr (S == 1) {
    x[0] = kInside == Reach::all ? load(p) : load_lanes(p, which[0]);
  } else {
    const vf a = kInside == Reach::all ? load(p) : load_lanes(p, which[0]);
    const vf b = kInside == Reach::all ? load(p + kLanes) : load_lanes(p + kLanes, which[1]);
    x[0] = even_lanes(a, b);
    x[1] = odd_lanes(a, b);
  }
}

// acc[r] += column j of the window (and j + 1, with stride 2) of row r. `top` is the input row under the
// first tap, `at` the column.
template <int K, int S, int R, Reach kInside>
inline __attribute__((always_inline)) void add_column(const DepthwiseImage& d, int64_t top, int64_t at, int j,
                                                      vf (&acc)[R]) {
  constexpr int kRows = (R - 1) * S + K;
  Lanes which[S];
  if constexpr (kInside != Reach::all) {
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) which[s] = lanes_between(-at - s * kLanes, d.w - at - s * kLanes);
  }
  const float* p = d.image + top * d.w + at;
  vf x[kRows][S];
#pragma GCC unroll 11
  for (int q = 0; q < kRows; ++q) {
    if (kInside != Reach::some || (top + q >= 0 && top + q < d.h)) {
      load_columns<S, kInside>(p, which, x[q]);
    } else {
#pragma GCC unroll 2
      for (int s = 0; s < S; ++s) x[q][s] = vf{};
    }
    p += d.w;
  }
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
    if (j + s >= K) break;
#pragma GCC unroll 5
    for (int i = 0; i < K; ++i) {
      const vf w = splat(d.weights[i * K + j + s]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r] += w * x[r * S + i][s];
    }
  }
}

template <int K, int S, int R, Reach kInside>
inline __attribute__((always_inline)) void add_window(const DepthwiseImage& d, int64_t top, int64_t at,
                                                      vf (&acc)[R]) {
#pragma GCC unroll 5
  for (int j = 0; j < K; j += S) add_column<K, S, R, kInside>(d, top, at + j, j, acc);
}

// Output rows [row, row + R).
template <int K, int S, int R>
void depthwise_rows(const DepthwiseImage d, int64_t row) {
  constexpr int kRows = (R - 1) * S + K;
  const int64_t top = row * S - d.pt;
  const bool rows_inside = top >= 0 && top + kRows <= d.h;
  const bool bounded = d.activation == Activation::clamp;
  for (int64_t c = 0; c < d.ow; c += kLanes) {
    vf acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = splat(d.bias);
    const int64_t at = c * S - d.pl;
    if (!rows_inside)
      add_window<K, S, R, Reach::some>(d, top, at, acc);
    else if (at >= 0 && at + K - 1 + S * kLanes <= d.w)
      add_window<K, S, R, Reach::all>(d, top, at, acc);
    else
      add_window<K, S, R, Reach::rows>(d, top, at, acc);
    const int64_t n = d.ow - c < kLanes ? d.ow - c : kLanes;
    float* to = d.out + row * d.ow + c;
    if (d.residual) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r] += load_n(d.residual + (to - d.out) + r * d.ow, n);
    }
    if (bounded) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r] = clamp(acc[r], d.alpha, d.beta);
    }
    if (n == kLanes) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) store(to + r * d.ow, acc[r]);
    } else {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) store_n(to + r * d.ow, acc[r], n);
    }
  }
}

template <int K, int S>
void depthwise_window(const DepthwiseImage& d) {
  // Rows of inputs stay in registers: up to 11 pairs with a stride of 2, too many where there are 16.
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_NEON)
  constexpr int kTogether = 4;
#else
  constexpr int kTogether = S == 2 ? 2 : 4;
#endif
  int64_t row = 0;
  for (; row + kTogether <= d.oh; row += kTogether) depthwise_rows<K, S, kTogether>(d, row);
  for (; row + 2 <= d.oh; row += 2) depthwise_rows<K, S, 2>(d, row);
  for (; row < d.oh; ++row) depthwise_rows<K, S, 1>(d, row);
  if (d.activation > Activation::clamp)
    activate_block(d.out, 0, 1, d.oh * d.ow, d.activation, d.alpha, d.beta);
}

void depthwise_image(int64_t window, int64_t stride, const DepthwiseImage& d) {
  if (window == 3) return stride == 1 ? depthwise_window<3, 1>(d) : depthwise_window<3, 2>(d);
  return stride == 1 ? depthwise_window<5, 1>(d) : depthwise_window<5, 2>(d);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
