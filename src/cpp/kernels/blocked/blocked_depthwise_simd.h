// Depthwise windows over blocks of channels. A vector is one pixel, so that borders are columns and rows left
// out and strides cost nothing; an input is loaded once per row of the window and meets every output it
// belongs to. `Task`: BlockedDepthwiseOf elements that load() reads.
#pragma once

#include "kernels/blocked/blocked_table.h"
#include "kernels/conv/lane_rows_simd.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Outputs at once; accumulators, a row of weights and an input fit the registers.
constexpr int kWide = kRegisters == 32 ? 14 : 7;

// R outputs of row `row` from column `col` on, the channels of one vector.
template <int K, int S, int R, class Task>
void depthwise_run(const Task& d, int64_t lane, int64_t row, int64_t col) {
  constexpr int kCols = (R - 1) * S + K;
  const int64_t left = col * S - d.pl;
  const int64_t first = min64(max64(-left, 0), kCols);
  const int64_t last = max64(first, min64(d.w - left, kCols));
  const auto exists = static_cast<uint32_t>((uint64_t{1} << last) - (uint64_t{1} << first));
  vf acc[R];
  const vf bias = load(d.bias + lane);
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) acc[r] = bias;
#pragma GCC unroll 1
  for (int i = 0; i < K; ++i) {
    const int64_t in = row * S - d.pt + i;
    if (in < 0 || in >= d.h) continue;
    vf w[K];
#pragma GCC unroll 7
    for (int j = 0; j < K; ++j) w[j] = load(d.weights + (i * K + j) * kBlock + lane);
    const auto* p = d.x + (in * d.w + left) * kBlock + lane;
#pragma GCC unroll 31
    for (int q = 0; q < kCols; ++q)
      // Said to be likely, or g++ 12 puts the arithmetic behind the function's end (depthwise_simd.h).
      if (__builtin_expect((exists >> q) & 1, 1)) {
        const vf x = load(p + q * kBlock);
#pragma GCC unroll 7
        for (int j = q % S; j < K; j += S)
          if (q >= j && (q - j) / S < R) acc[(q - j) / S] += w[j] * x;
      }
  }
  const int64_t at = ((row - d.y_row) * d.ow + col) * kBlock + lane;
  const BlockedTail& t = d.tail;
  if (t.residual) {
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r) acc[r] += load(t.residual + at + r * kBlock);
  }
  if (t.activation == Activation::clamp) {
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r) acc[r] = min_keep_nan(splat(t.beta), max_keep_nan(splat(t.alpha), acc[r]));
  }
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r) store(d.y + at + r * kBlock, acc[r]);
}

// Columns that a strip of rows spans: three rows of inputs and one of outputs stay in the first-level cache
// (112 columns of them do not: 140 us against 97 row-major, Zen 4).
constexpr int64_t kStrip = 56;

template <int K, int S, int R, class Task>
void depthwise_rows(const Task& d) {
  for (int64_t strip = 0; strip < d.ow; strip += kStrip) {
    const int64_t end = min64(strip + kStrip, d.ow);
    for (int64_t row = d.row; row < d.end; ++row)
      for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
        int64_t col = strip;
        for (; col + R <= end; col += R) depthwise_run<K, S, R>(d, lane, row, col);
        // The last run ends with the strip and repeats what the one before it did.
        if (col < end) depthwise_run<K, S, R>(d, lane, row, end - R);
      }
  }
  if constexpr (Task::kActivates)
    if (d.tail.activation > Activation::clamp)
      activate_block(d.y + (d.row - d.y_row) * d.ow * kBlock, 0, 1, (d.end - d.row) * d.ow * kBlock,
                     d.tail.activation, d.tail.alpha, d.tail.beta);
}

template <int K, int S, class Task>
void depthwise_window(const Task& d) {
  // Seven where that repeats less: 21 columns as 7 x 3 and not as 14 + 14.
  if (d.ow >= kWide && (d.ow % kWide == 0 || d.ow > 2 * kWide)) return depthwise_rows<K, S, kWide>(d);
  if (d.ow >= 7) return depthwise_rows<K, S, 7>(d);
  if (d.ow >= 3) return depthwise_rows<K, S, 3>(d);
  depthwise_rows<K, S, 1>(d);
}

template <class Task>
void depthwise(int64_t window, int64_t stride, const Task& d) {
  if (window == 7) return depthwise_window<7, 1>(d);
  if (window == 3) return stride == 1 ? depthwise_window<3, 1>(d) : depthwise_window<3, 2>(d);
  return stride == 1 ? depthwise_window<5, 1>(d) : depthwise_window<5, 2>(d);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
