// Chains of sums in float16, behind the header that says what such numbers are (simd/float16.h). They go to
// sums in float32 behind every kShortChain words: 128 products, of which each sum is rounded to 11 bits, have
// 56 dB; chains half as long would have 59 and one instruction in 20 more.
#pragma once

#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int64_t kShortChain = 64;

// acc[i] += the words at a[i * step] times those at b. Words of A are loaded two rows ahead of their use.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_short(vh (&acc)[M][V], const uint32_t* __restrict a,
                                                          int64_t step, const uint32_t* b) {
  TwoSteps bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = two_steps(b + v * kLanes);
  auto word = word_at(a), next = M > 1 ? word_at(a + step) : word;
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const auto last = i + 2 < M ? word_at(a + (i + 2) * step) : next;
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = add_product<0>(acc[i][v], bv[v].first, word);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = add_product<1>(acc[i][v], bv[v].second, word);
    word = next;
    next = last;
  }
}

// `n` words of each row, of which a and b end behind.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_short_along(vh (&acc)[M][V], const uint32_t*& a,
                                                                int64_t step, const uint32_t*& b, int64_t n) {
#pragma GCC unroll 2
  for (int64_t l = 0; l < n; ++l, ++a, b += kNr) multiply_short(acc, a, step, b);
}

template <int M, int V>
inline __attribute__((always_inline)) void begin_short(vh (&acc)[M][V]) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = no_sum();
}

// To sums[i * row + v * kLanes].
template <int M, int V>
inline __attribute__((always_inline)) void end_short(vh (&acc)[M][V], float* sums, int64_t row, bool first) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) add_to(sums + i * row + v * kLanes, acc[i][v], first);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
