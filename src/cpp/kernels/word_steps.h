// Steps of tiles that multiply words of A by vectors of words of B, behind the header that says what a word
// is (simd/pairs.h, simd/quads.h). Sets that multiply by a lane (kWordsByLane) load words of A together, as
// kernels/simd_by_lane.h does floats; of those a header has
//
//   turn_for_lanes(b)                the vectors of a step of B as words_of_lane takes them
//   words_of_lane<lane>(acc, a, b)   acc[v] + the products of that lane's word of A
//
// Of 12 rows by 8 columns a step of sdot is 33 instructions, of which 24 multiply 384 times, and two steps of
// words that follow one another are 67 and 48: a quarter of what float32 takes, whose two steps are 67 for
// 192. By llvm-mca 19 a Neoverse N1 is at 99 % of its two sdot a cycle with either, a Cortex-A55, in whose
// model any other instruction takes the place of an sdot, at 60 and 77 % of one. smlal: 59 instructions for
// 192, 99 %.
#pragma once

#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <int V>
inline __attribute__((always_inline)) void load_step(vu (&b)[V], const uint32_t* from) {
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) b[v] = load_words(from + v * kLanes);
  if constexpr (kWordsByLane) turn_for_lanes(b);
}

template <int I, int M, int V>
inline __attribute__((always_inline)) void multiply_word_lanes(vu (&acc)[M][V], const vu* a,
                                                               const vu (&b)[V]) {
  if constexpr (I < M) {
    words_of_lane<I % 4>(acc[I], a[I / 4], b);
    multiply_word_lanes<I + 1>(acc, a, b);
  }
}

// acc[i] += a[i * step] times the words at b.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_words(vu (&acc)[M][V], const uint32_t* a, int64_t step,
                                                          const uint32_t* b) {
  vu bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = load_words(b + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu word = splat_word(a[i * step]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = words(acc[i][v], word, bv[v]);
  }
}

// The same of words of A side by side, by lanes. Whole vectors of A are read.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_words_beside(vu (&acc)[M][V], const uint32_t* a,
                                                                 const uint32_t* b) {
  vu bv[V], four[(M + 3) / 4];
  load_step(bv, b);
#pragma GCC unroll 3
  for (int q = 0; q < (M + 3) / 4; ++q) four[q] = load_words(a + q * kLanes);
  multiply_word_lanes<0>(acc, four, bv);
}

// Two steps, whose words of A follow one another: loads of A stand two rows ahead of their use.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_two_words(vu (&acc)[M][V], const uint32_t* a,
                                                              int64_t step, const uint32_t* b) {
  vu first[V], second[V];
  load_step(first, b);
  load_step(second, b + kNr);
  const auto two_at = [&](int i) {
    return reinterpret_cast<vu>(load_n(reinterpret_cast<const float*>(a + i * step), 2));
  };
  vu two = two_at(0), next = M > 1 ? two_at(1) : two;
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu last = i + 2 < M ? two_at(i + 2) : next;
    words_of_lane<0>(acc[i], two, first);
    words_of_lane<1>(acc[i], two, second);
    two = next;
    next = last;
  }
}

// `n` steps whose words of A follow one another; a and b end behind them.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_words_along(vu (&acc)[M][V], const uint32_t*& a,
                                                                int64_t step, const uint32_t*& b, int64_t n) {
  int64_t q = 0;
  if constexpr (kWordsByLane)
    for (; q + 2 <= n; q += 2, a += 2, b += 2 * kNr) multiply_two_words(acc, a, step, b);
  for (; q < n; ++q, ++a, b += kNr) multiply_words(acc, a, step, b);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
