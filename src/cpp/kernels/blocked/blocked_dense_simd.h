// Dense convolution over blocks of channels: pixels are broadcast, output channels lie in lanes, and a tile
// leaves its registers as it is. Only blocked_simd.cc includes this.
#pragma once

#include "kernels/blocked/blocked_table.h"
#include "kernels/conv/lane_rows_simd.h"
#include "kernels/simd_activation.h"
#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Channels of taps that one accumulator sums before it is put to the sums of those before it: see kChain in
// gemm_simd.cc. A block that begins is finished, so a chain has up to 15 more. In one chain, 4,608 terms (512
// channels of a 3 x 3 window) are off by 4 times what the peers' sums are.
constexpr int64_t kDenseChain = 256;

// Adds the accumulators to sums that lie in memory, not in y: y may be where the residual still is.
template <int M, int V>
inline __attribute__((always_inline)) void end_chain(vf (&acc)[M][V], float* sums, bool first) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      float* at = sums + (i * V + v) * kLanes;
      store(at, first ? acc[i][v] : load(at) + acc[i][v]);
      acc[i][v] = vf{};
    }
}

// The tail of M pixels of one vector of channels, but for functions: see activate_pixels().
template <int M, int V>
inline __attribute__((always_inline)) void finish(const BlockedDense& d, vf (&acc)[M][V], int64_t at) {
  const BlockedTail& t = d.tail;
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const int64_t from = at + v * d.y_vector;
    const int64_t step = d.y_step;
    if (t.residual) {
      const float* r = t.residual + from;
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) acc[i][v] += load(r + i * step);
    }
    if (t.activation == Activation::clamp) {
      const vf low = splat(t.alpha);
      const vf high = splat(t.beta);
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) acc[i][v] = min_keep_nan(high, max_keep_nan(low, acc[i][v]));
    }
    float* y = d.y + from;
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) store(y + i * step, acc[i][v]);
  }
}

// A function is one long chain of steps, of which a core overlaps what it holds. Behind each tile of 14
// pixels a SiLU takes 30 cycles a vector, behind 112 pixels, which are still in the first-level cache, 19.
constexpr int64_t kActivatedTiles = 8;

// What finish() leaves to do for pixels [from, to).
template <int V>
void activate_pixels(const BlockedDense& d, int64_t from, int64_t to) {
  const BlockedTail& t = d.tail;
  if (t.activation <= Activation::clamp) return;
  const bool dense = d.y_step == kLanes;
  const int64_t rows = dense ? 1 : to - from;
  const int64_t cols = dense ? (to - from) * kLanes : kLanes;
  for (int v = 0; v < V; ++v)
    activate_block(d.y + from * d.y_step + v * d.y_vector, d.y_step, rows, cols, t.activation, t.alpha,
                   t.beta);
}

template <int M, int V>
inline __attribute__((always_inline)) void start_at_bias(const BlockedDense& d, vf (&acc)[M][V]) {
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const vf bias = load(d.bias + v * kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) acc[i][v] = bias;
  }
}

// The chains that ended before the one in the accumulators.
template <int M, int V>
inline __attribute__((always_inline)) void add_chains(vf (&acc)[M][V], const float* sums) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] += load(sums + (i * V + v) * kLanes);
}

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
#pragma GCC unroll 2
      for (int64_t l = 0; l < n; ++l) {
        multiply_add(acc, p, step, b);
        ++p;
        b += kNr;
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

// Equal tiles: 16 pixels as 8 + 8 keep the multiply-adds busy, 14 + 2 would wait for latency.
template <int V>
void equal_tiles(const BlockedDense& d, DenseTile (*tile_of)(int64_t)) {
  const int64_t tiles = (d.pixels + kMr - 1) / kMr;
  int64_t done = 0;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t from = d.pixels * i / tiles;
    const int64_t to = d.pixels * (i + 1) / tiles;
    tile_of(to - from)(d, from);
    if ((i + 1) % kActivatedTiles && i + 1 < tiles) continue;
    activate_pixels<V>(d, done, to);
    done = to;
  }
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
