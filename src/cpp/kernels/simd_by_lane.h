// Steps of a tile whose elements of A are lanes of vectors, for sets that multiply by a lane (kByLane): NEON.
// Loads are written ahead of their uses, two rows of them, and files that include this are not scheduled anew
// by g++ (cmake/isa.cmake): a Cortex-A55 takes instructions in their order and waits for a load otherwise.
#pragma once

#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <int I, int M, int V>
inline __attribute__((always_inline)) void multiply_add_lanes(vf (&acc)[M][V], const vf* a,
                                                              const vf (&b)[V]) {
  if constexpr (I < M) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[I][v] += splat_of_four<I % 4>(a[I / 4]) * b[v];
    multiply_add_lanes<I + 1>(acc, a, b);
  }
}

// acc[i] += a[i] * b of elements side by side. Whole vectors of A are read.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_add_beside(vf (&acc)[M][V], const float* __restrict a,
                                                               const vf (&b)[V]) {
  vf four[(M + 3) / 4];
#pragma GCC unroll 3
  for (int q = 0; q < (M + 3) / 4; ++q) four[q] = load(a + q * kLanes);
  multiply_add_lanes<0>(acc, four, b);
}

// Two steps of the depth, whose elements of A follow one another. Four would want eight registers for B
// beside the accumulators' 24. 67 instructions for 48 multiply-adds, 80 with a load for each step.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_add_two(vf (&acc)[M][V], const float* __restrict a,
                                                            int64_t step, const float* b) {
  vf first[V], second[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    first[v] = load(b + v * kLanes);
    second[v] = load(b + kNr + v * kLanes);
  }
  vf two = load_n(a, 2), next = M > 1 ? load_n(a + step, 2) : two;
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vf last = i + 2 < M ? load_n(a + (i + 2) * step, 2) : next;
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] += splat_of_four<0>(two) * first[v];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] += splat_of_four<1>(two) * second[v];
    two = next;
    next = last;
  }
}

// `n` steps whose elements of A follow one another; a and b end behind them.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_add_along(vf (&acc)[M][V], const float* __restrict& a,
                                                              int64_t step, const float*& b, int64_t n) {
  int64_t l = 0;
  for (; l + 2 <= n; l += 2, a += 2, b += 2 * kNr) multiply_add_two(acc, a, step, b);
  if (l < n) {
    multiply_add(acc, a, step, b);
    ++a;
    b += kNr;
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
