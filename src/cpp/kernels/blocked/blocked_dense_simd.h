// Dense convolution over blocks of channels: pixels are broadcast, output channels lie in lanes, and a tile
// leaves its registers as it is. Only blocked_simd.cc includes this.
#pragma once

#include "kernels/blocked/blocked_tile_simd.h"
#include "kernels/conv/lane_rows_simd.h"
#include "kernels/simd_by_lane.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// What a tile fetches of the next task's weights: its share of the pixels, spread over its blocks of
// channels. Read by the first tile that needs them, weights from memory would be waited for: 64 bytes a step
// of 6 cycles are three times what memory gives. MobileNetV1 took 14.7 ms without, 14.1 with (Zen 3).
struct NextWeights {
  const float* at;
  int64_t rows;  // [panel] each, with every block of channels

  NextWeights(const BlockedDense& d, int64_t first, int64_t count)
      : at(d.next ? d.next + d.taps * d.channels * first / d.pixels * kNr : nullptr),
        rows(d.next ? (count * kBlock + d.pixels - 1) / d.pixels : 0) {}

  void fetch() {
    for (int64_t q = 0; q < rows; ++q, at += kNr) __builtin_prefetch(at, 0, 2);
  }
};

// M pixels from number `first` on. `Step`: floats between their inputs; 0: what the task says, for columns.
template <int M, int V, int Step>
void dense_tile(const BlockedDense& d, int64_t first) {
  const int64_t step = Step > 0 ? Step : d.x_step;
  vf acc[M][V];
  start_at_bias(d, acc);
  float sums[M * V * kLanes];
  bool first_chain = true;
  int64_t left = kDenseChain;
  NextWeights next(d, first, M);
  for (int64_t t = 0; t < d.taps; ++t) {
    const float* x = d.x + first * step + d.tap[t];
    const float* b = d.weights + d.which[t] * d.channels * kNr;
    int64_t lane = d.lane;
    for (int64_t channel = 0; channel < d.channels;) {
      const float* __restrict p = x + lane;
      const int64_t n = min64(kBlock - lane, d.channels - channel);
      next.fetch();
      if constexpr (kByLane) {
        multiply_add_along(acc, p, step, b, n);
      } else {
#pragma GCC unroll 2
        for (int64_t l = 0; l < n; ++l) {
          multiply_add(acc, p, step, b);
          ++p;
          b += kNr;
        }
      }
      x += d.x_block;
      lane = 0;
      channel += n;
      left -= n;
      if (left <= 0) {
        end_chain(acc, sums, first_chain);
        first_chain = false;
        left = kDenseChain;
      }
    }
  }
  if (!first_chain) add_chains(acc, sums);
  finish(d, acc, first * d.y_step);
}

using DenseTile = void (*)(const BlockedDense&, int64_t);

template <int V, int Step>
DenseTile dense_tile_for(int64_t rows) {
  static constexpr DenseTile tiles[] = {WALLE_TILES(dense_tile, V, Step)};
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[rows - 1];
}

// M pixels of groups of four: a vector of inputs is loaded once and each of its channels put where its
// group's outputs are. Half of the work is these moves, which is less than four panels of a quarter each.
template <int M, int Step>
void fours_tile(const BlockedDense& d, int64_t first) {
  const int64_t step = Step > 0 ? Step : d.x_step;
  const float* x = d.x + first * step + d.lane;
  vf acc[M][1];
  start_at_bias(d, acc);
  for (int64_t t = 0; t < d.taps; ++t) {
    const float* p = x + d.tap[t];
    const float* b = d.weights + d.which[t] * 4 * kNr;
    const vf w0 = load(b), w1 = load(b + kNr), w2 = load(b + 2 * kNr), w3 = load(b + 3 * kNr);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) {
      const vf v = load(p + i * step);
      acc[i][0] += splat_of_four<0>(v) * w0;
      acc[i][0] += splat_of_four<1>(v) * w1;
      acc[i][0] += splat_of_four<2>(v) * w2;
      acc[i][0] += splat_of_four<3>(v) * w3;
    }
  }
  finish(d, acc, first * d.y_step);
}

template <int Step>
DenseTile fours_tile_for(int64_t rows) {
  static constexpr DenseTile tiles[] = {WALLE_TILES(fours_tile, Step)};
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[rows - 1];
}

// Columns are a few of a map's pixels and their inputs lie anywhere: three sizes of tile do. Two pixels keep
// the multiply-adds busy (two vectors, four steps of latency), one does not: see kLonePixel.
template <int V>
void dense_columns(const BlockedDense& d) {
  int64_t at = 0;
  for (; at + 4 <= d.pixels; at += 4) dense_tile<4, V, 0>(d, at);
  for (; at + 2 <= d.pixels; at += 2) dense_tile<2, V, 0>(d, at);
  if (at < d.pixels) dense_tile<1, V, 0>(d, at);
  activate_pixels<V>(d, 0, d.pixels);
}

template <int V>
void dense_panel(const BlockedDense& d) {
  const auto tile_of = d.x_step == kBlock       ? dense_tile_for<V, kBlock>
                       : d.x_step == 2 * kBlock ? dense_tile_for<V, 2 * kBlock>
                                                : nullptr;
  if (!tile_of) return dense_columns<V>(d);
  equal_tiles<V>(d, tile_of);
}

void dense(const BlockedDense& d) {
  if (d.fours)
    return equal_tiles<1>(d, d.x_step == kBlock       ? fours_tile_for<kBlock>
                             : d.x_step == 2 * kBlock ? fours_tile_for<2 * kBlock>
                                                      : fours_tile_for<0>);
  d.narrow ? dense_panel<1>(d) : dense_panel<2>(d);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
