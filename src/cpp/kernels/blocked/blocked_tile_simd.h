// What register tiles over blocks of channels have in common, whatever they multiply in: where sums begin,
// their chains, and how a tile ends. `Task`: bias, y, its strides, tail and pixels as BlockedDense has them.
#pragma once

#include "kernels/blocked/blocked_table.h"
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
template <int M, int V, class Task>
inline __attribute__((always_inline)) void finish(const Task& d, vf (&acc)[M][V], int64_t at) {
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
template <int V, class Task>
void activate_pixels(const Task& d, int64_t from, int64_t to) {
  const BlockedTail& t = d.tail;
  if (t.activation <= Activation::clamp) return;
  const bool dense = d.y_step == kLanes;
  const int64_t rows = dense ? 1 : to - from;
  const int64_t cols = dense ? (to - from) * kLanes : kLanes;
  for (int v = 0; v < V; ++v)
    activate_block(d.y + from * d.y_step + v * d.y_vector, d.y_step, rows, cols, t.activation, t.alpha,
                   t.beta);
}

template <int M, int V, class Task>
inline __attribute__((always_inline)) void start_at_bias(const Task& d, vf (&acc)[M][V]) {
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

// Equal tiles: 16 pixels as 8 + 8 keep the multiply-adds busy, 14 + 2 would wait for latency.
template <int V, int Most = kMr, class Task>
void equal_tiles(const Task& d, void (*(*tile_of)(int64_t))(const Task&, int64_t)) {
  const int64_t tiles = (d.pixels + Most - 1) / Most;
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

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
