// Steps of tiles that multiply two words of two rows by two words of two columns at once (kPairsOfRows of
// simd/bfloat.h), behind the header that has `products` and `squares`.
//
// Accumulators of rows 2p and 2p + 1 then hold two columns each of both rows: turn_pairs() makes rows of
// them, and such squares of rows. B stays in rows of words, because of two loads and two shuffles a step
// serve all rows of a tile. The last row of an odd number is multiplied by itself.
//
// Of 12 rows by 8 columns 52 instructions, 24 of them bfmmla, multiply 384 times: 0.39 of what float32 takes.
#pragma once

#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <int M, int V>
inline __attribute__((always_inline)) void turn_pairs(vf (&acc)[M][V]) {
  static_assert(kLanes == 4);
#pragma GCC unroll 6
  for (int i = 0; i + 1 < M; i += 2)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      const vf first = acc[i][v], second = acc[i + 1][v];
      acc[i][v] = __builtin_shufflevector(first, second, 0, 1, 4, 5);
      acc[i + 1][v] = __builtin_shufflevector(first, second, 2, 3, 6, 7);
    }
}

// Two steps, or a last one; words of A follow one another, rows of A are `step` apart.
template <bool Both, int M, int V>
inline __attribute__((always_inline)) void multiply_squares(vf (&acc)[M][V], const uint32_t* a, int64_t step,
                                                            const uint32_t* b) {
  vu first[V], second[V], low[V], high[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    first[v] = load_words(b + v * kLanes);
    second[v] = Both ? load_words(b + kNr + v * kLanes) : vu{};
    low[v] = __builtin_shufflevector(first[v], second[v], 0, 4, 1, 5);
    high[v] = __builtin_shufflevector(first[v], second[v], 2, 6, 3, 7);
  }
#pragma GCC unroll 6
  for (int i = 0; i + 1 < M; i += 2) {
    const uint32_t *p = a + i * step, *q = a + (i + 1) * step;
    const vu two = Both ? two_of_each(p, q) : vu{p[0], 0, q[0], 0};
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      acc[i][v] = squares(acc[i][v], two, low[v]);
      acc[i + 1][v] = squares(acc[i + 1][v], two, high[v]);
    }
  }
  if constexpr (M % 2) {
    const uint32_t* const last = a + (M - 1) * step;
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      acc[M - 1][v] = products(acc[M - 1][v], splat_word(last[0]), first[v]);
      if (Both) acc[M - 1][v] = products(acc[M - 1][v], splat_word(last[1]), second[v]);
    }
  }
}

// `n` steps; a and b end behind them.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_squares_along(vf (&acc)[M][V], const uint32_t*& a,
                                                                  int64_t step, const uint32_t*& b,
                                                                  int64_t n) {
  int64_t l = 0;
  for (; l + 2 <= n; l += 2, a += 2, b += 2 * kNr) multiply_squares<true>(acc, a, step, b);
  if (l < n) {
    multiply_squares<false>(acc, a, step, b);
    ++a;
    b += kNr;
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
