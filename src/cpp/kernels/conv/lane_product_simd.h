// Products whose output channels lie in lanes: rows of pixels, or tiles, are broadcast. Only
// channel_lanes_simd.cc includes this.
#pragma once

#include "kernels/conv/lane_rows_simd.h"
#include "kernels/simd_by_lane.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Sums of sums are off by less than one long sum is (see kChain in gemm_simd.cc): a product adds to what the
// steps before left in c.
constexpr int64_t kWindowChain = 256;

template <int M, int V>
inline __attribute__((always_inline)) void store_sums(vf (&acc)[M][V], float* c, bool add) {
  if (add) {
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) acc[i][v] += load(c + i * kNr + v * kLanes);
  }
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) store(c + i * kNr + v * kLanes, acc[i][v]);
}

template <int M, int V>
void tile(const LaneProduct& p, const float* a, const float* b, float* c) {
  int64_t from = 0;
  do {  // once even without channels
    const int64_t end = min64(from + p.chain, p.channels);
    vf acc[M][V] = {};
    for (int64_t block = from; block < end; block += kLanes) {
      const float* __restrict x = a;
      const int64_t n = min64(kLanes, end - block);
      if constexpr (kByLane) {
        multiply_add_along(acc, x, kLanes, b, n);
      } else {
#pragma GCC unroll 2
        for (int64_t l = 0; l < n; ++l) {
          multiply_add(acc, x, kLanes, b);
          ++x;
          b += kNr;
        }
      }
      a += p.a_block;
    }
    store_sums<M, V>(acc, c, from > 0);
    from = end;
  } while (from < p.channels);
}

using Tile = void (*)(const LaneProduct&, const float*, const float*, float*);

template <int V>
Tile tile_for(int64_t rows) {
  static constexpr Tile tiles[] = {WALLE_TILES(tile, V)};
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[rows - 1];
}

void product(const LaneProduct& p) {
  const bool narrow = p.filters <= kLanes;
  // Equal register blocks: 16 tiles as 8 + 8 keep the multiply-adds busy, 14 + 2 would wait for latency.
  const int64_t blocks = (p.tiles + kMr - 1) / kMr;
  for (int64_t t = 0; t < p.positions; ++t)
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t from = p.tiles * i / blocks;
      const int64_t rows = p.tiles * (i + 1) / blocks - from;
      const Tile tile_of = narrow ? tile_for<1>(rows) : tile_for<2>(rows);
      tile_of(p, p.a + t * p.a_step + from * kLanes, p.b + t * p.channels * kNr,
              p.c + t * p.c_step + from * kNr);
    }
}

// kMr windows side by side, S elements apart.
template <int V, int S>
void window_tile(const LaneWindows& w, const float* rows, float* c) {
  const float* b = w.b;
  int64_t l = 0;
  do {  // once even without depth
    const int64_t from = l;
    const int64_t end = w.depth - l > kWindowChain ? l + kWindowChain : w.depth;
    vf acc[kMr][V] = {};
    for (; l < end; ++l) {
      multiply_add(acc, rows + w.offset[l], S, b);
      b += kNr;
    }
    store_sums<kMr, V>(acc, c, from > 0);
  } while (l < w.depth);
}

void windows(const LaneWindows& w) {
  const bool narrow = w.filters <= kLanes;
  const auto tile_of = w.step == 1 ? (narrow ? window_tile<1, 1> : window_tile<2, 1>)
                                   : (narrow ? window_tile<1, 2> : window_tile<2, 2>);
  for (int64_t at = 0; at < w.pixels; at += kMr) {
    // The last tile ends with the row and repeats what the one before it did.
    const int64_t from = min64(at, w.pixels - kMr);
    tile_of(w, w.rows + from * w.step, w.c + from * kNr);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
