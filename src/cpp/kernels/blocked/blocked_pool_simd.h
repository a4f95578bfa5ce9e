// Pooling and means over blocks of channels. `Task`: BlockedPoolOf elements that load() reads.
#pragma once

#include "kernels/blocked/blocked_table.h"
#include "kernels/conv/lane_rows_simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// NaN on either side stays: the instruction behind max_keep_nan forgets one on its left.
inline vf larger(vf a, vf b) {
  const vf most = max_keep_nan(a, b);
  return a != a ? a : most;
}

// The steps of a window of `size`, `step` apart, that lie in [0, n) when it starts at `from`.
inline void inside(int64_t from, int64_t step, int64_t size, int64_t n, int64_t& first, int64_t& last) {
  first = from < 0 ? (-from + step - 1) / step : 0;
  last = from >= n ? 0 : min64(size, (n - from + step - 1) / step);
  last = max64(last, first);
}

// P pixels side by side that meet the same part of the window, the channels of one vector. Several, or each
// would wait for the latency of its maximum.
template <bool Mean, int P, class Task>
void pool_pixels(const Task& p, int64_t row, int64_t col, int64_t lane, int64_t i0, int64_t i1, int64_t j0,
                 int64_t j1) {
  const int64_t step = p.sw * kBlock;
  vf acc[P];
#pragma GCC unroll 4
  for (int q = 0; q < P; ++q) acc[q] = Mean ? vf{} : splat(-__builtin_inff());
  for (int64_t i = i0; i < i1; ++i) {
    const auto* x =
        p.x + ((row * p.sh - p.pt + i * p.dh) * p.w + col * p.sw - p.pl + j0 * p.dw) * kBlock + lane;
    for (int64_t j = j0; j < j1; ++j) {
#pragma GCC unroll 4
      for (int q = 0; q < P; ++q) {
        const vf in = load(x + q * step);
        acc[q] = Mean ? acc[q] + in : larger(acc[q], in);
      }
      x += p.dw * kBlock;
    }
  }
  float* y = p.y + ((row - p.y_row) * p.ow + col) * kBlock + lane;
#pragma GCC unroll 4
  for (int q = 0; q < P; ++q)
    store(y + q * kBlock, Mean ? acc[q] / splat(p.row_counts[row] * p.col_counts[col + q]) : acc[q]);
}

template <bool Mean, class Task>
void pool_rows(const Task& p) {
  for (int64_t row = p.row; row < p.end; ++row) {
    int64_t i0, i1;
    inside(row * p.sh - p.pt, p.dh, p.kh, p.h, i0, i1);
    for (int64_t col = 0; col < p.ow;) {
      const int64_t left = col * p.sw - p.pl;
      const bool whole = col + 4 <= p.ow && left >= 0 && left + 3 * p.sw + (p.kw - 1) * p.dw < p.w;
      int64_t j0 = 0, j1 = p.kw;
      if (!whole) inside(left, p.dw, p.kw, p.w, j0, j1);
      for (int64_t lane = 0; lane < kBlock; lane += kLanes)
        whole ? pool_pixels<Mean, 4>(p, row, col, lane, i0, i1, j0, j1)
              : pool_pixels<Mean, 1>(p, row, col, lane, i0, i1, j0, j1);
      col += whole ? 4 : 1;
    }
  }
}

template <class Task>
void pool(const Task& p) {
  p.col_counts ? pool_rows<true>(p) : pool_rows<false>(p);
}

// Pixels that are summed before they join the total: the error of a sum grows with the number of additions
// that follow one another, and a map of 112 x 112 has 49 of these instead of 3,136 additions.
constexpr int64_t kMeanChain = 256;

template <class Element>
void mean(const Element* x, int64_t pixels, float count, float* out) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    vf total = {};
    for (int64_t p = 0; p < pixels;) {
      const int64_t end = min64(p + kMeanChain, pixels);
      // Four sums: one would wait for the latency of an addition per pixel.
      vf sum[4] = {};
      for (; p + 4 <= end; p += 4)
#pragma GCC unroll 4
        for (int q = 0; q < 4; ++q) sum[q] += load(x + (p + q) * kBlock + lane);
      for (; p < end; ++p) sum[0] += load(x + p * kBlock + lane);
      total += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    store(out + lane, total / splat(count));
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
