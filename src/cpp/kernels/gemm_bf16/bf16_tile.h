// Register tiles of the product in bfloat16, for a file that has included the words of kernels/simd/bfloat.h
// or what stands for them in tests.
#pragma once

#include "kernels/gemm_bf16/bf16_exit.h"
#include "kernels/gemm_bf16/bf16_pack.h"
#if !defined(WALLE_ISA_AVX512)  // which has no such products
#include "kernels/square_steps.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <int M, int V>
inline __attribute__((always_inline)) void step(vf (&acc)[M][V], const uint32_t* a, const uint32_t* b) {
  vu bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = load_words(b + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu word = splat_word(a[i * kBf16Row]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = products(acc[i][v], word, bv[v]);
  }
}

// sums[i * kNr + j]. Every tile and row_tile() add in the same order: equal columns have equal results
// wherever they stand.
template <int M, int V>
void tile(const Bf16Block& t, const uint32_t* a, Ahead& ahead, float* sums) {
  const uint32_t* b = t.b;
  int64_t left = t.steps;
  bool first = true;
  do {  // once even for k = 0
    vf acc[M][V] = {};
    const uint32_t* at = a;
    int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    left -= chain;
    for (; chain >= kLook; chain -= kLook) {
      if constexpr (kPairsOfRows)
        multiply_squares_along(acc, at, kBf16Row, b, kLook);
      else
        for (int64_t s = 0; s < kLook; ++s, ++at, b += kNr) step<M, V>(acc, at, b);
      ahead.look();
    }
    if constexpr (kPairsOfRows) {
      multiply_squares_along(acc, at, kBf16Row, b, chain);
      turn_pairs(acc);
    } else {
      for (; chain > 0; --chain, ++at, b += kNr) step<M, V>(acc, at, b);
    }
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        float* to = sums + i * kNr + v * kLanes;
        store(to, first ? acc[i][v] : load(to) + acc[i][v]);
      }
    first = false;
    a += t.a_chain;
  } while (left > 0);
}

// One row by P panels, side by side: a product of one row takes as long as reading B, and several streams
// come from memory faster than one does (1 x 4096 x 4096: 1.3 ms, 2.0 panel by panel; 1.6 with the next one
// asked for ahead).
template <int P>
void row_tile(const Bf16Block& t, float* sums) {
  const uint32_t* a = t.a;
  const uint32_t* b = t.b;
  int64_t left = t.steps;
  bool first = true;
  do {  // once even for k = 0
    vf acc[P][2] = {};
    const int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    left -= chain;
    for (int64_t s = 0; s < chain; ++s, b += kNr) {
      const vu word = splat_word(a[s]);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const uint32_t* at = b + p * t.b_panel;
        acc[p][0] = products(acc[p][0], word, load_words(at));
        acc[p][1] = products(acc[p][1], word, load_words(at + kLanes));
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        float* to = sums + p * kNr + v * kLanes;
        store(to, first ? acc[p][v] : load(to) + acc[p][v]);
      }
    first = false;
    a += t.a_chain;
  } while (left > 0);
}

void block(const Bf16Block& t) {
  if (t.cols > kNr) return by_panels(t, row_tile<kStreams>, row_tile<1>);
  static constexpr Tile wide[] = {WALLE_TILES(tile, 2)};
  // Of the last panel alone: eight sums hide the latency, and taller ones were 7 KB.
  static constexpr Tile narrow[] = {WALLE_TILES_6(tile, 1), tile<7, 1>, tile<8, 1>};
  t.cols > kLanes ? by_tiles(t, wide, kMr) : by_tiles(t, narrow, kMr < 8 ? kMr : 8);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
