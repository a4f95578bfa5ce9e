// Words of two int16 and their product (pmaddwd), which every set of vectors has. On Zen 4 one core
// multiplies 32 pairs a cycle with avx512, which is twice what it does in float32.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_NEON)
constexpr bool kWordsByLane = true;

inline int16x8_t halves(vu x) { return reinterpret_cast<int16x8_t>(x); }
inline int32x4_t sums(vu x) { return reinterpret_cast<int32x4_t>(x); }

inline vu words(vu acc, vu a, vu b) {
  const int32x4_t low = vmull_s16(vget_low_s16(halves(a)), vget_low_s16(halves(b)));
  const int32x4_t high = vmull_high_s16(halves(a), halves(b));
  return reinterpret_cast<vu>(vaddq_s32(sums(acc), vpaddq_s32(low, high)));
}

// As kernels/word_steps.h wants them: smlal multiplies four int16 that lie side by side, so that a vector
// holds the first ones of words, or the second ones; of a single vector both, one behind the other.
inline void turn_for_lanes(vu (&b)[2]) {
  const int16x8_t first = vuzp1q_s16(halves(b[0]), halves(b[1]));
  b[1] = reinterpret_cast<vu>(vuzp2q_s16(halves(b[0]), halves(b[1])));
  b[0] = reinterpret_cast<vu>(first);
}
inline void turn_for_lanes(vu (&b)[1]) {
  b[0] = reinterpret_cast<vu>(vcombine_s16(vmovn_s32(sums(b[0])), vshrn_n_s32(sums(b[0]), 16)));
}

template <int lane>
inline __attribute__((always_inline)) void words_of_lane(vu (&acc)[2], vu four, const vu (&b)[2]) {
  const int16x8_t a = halves(four), first = halves(b[0]), second = halves(b[1]);
  int32x4_t low = sums(acc[0]), high = sums(acc[1]);
  low = vmlal_laneq_s16(low, vget_low_s16(first), a, 2 * lane);
  high = vmlal_high_laneq_s16(high, first, a, 2 * lane);
  low = vmlal_laneq_s16(low, vget_low_s16(second), a, 2 * lane + 1);
  high = vmlal_high_laneq_s16(high, second, a, 2 * lane + 1);
  acc[0] = reinterpret_cast<vu>(low);
  acc[1] = reinterpret_cast<vu>(high);
}
template <int lane>
inline __attribute__((always_inline)) void words_of_lane(vu (&acc)[1], vu four, const vu (&b)[1]) {
  const int16x8_t a = halves(four);
  const int32x4_t first = vmlal_laneq_s16(sums(acc[0]), vget_low_s16(halves(b[0])), a, 2 * lane);
  acc[0] = reinterpret_cast<vu>(vmlal_high_laneq_s16(first, halves(b[0]), a, 2 * lane + 1));
}
#else
constexpr bool kWordsByLane = false;

inline vu words(vu acc, vu a, vu b) {
#if defined(WALLE_ISA_AVX512)
  return acc +
         reinterpret_cast<vu>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(WALLE_ISA_AVX2)
  return acc +
         reinterpret_cast<vu>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return acc +
         reinterpret_cast<vu>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const vi x = reinterpret_cast<vi>(a), y = reinterpret_cast<vi>(b);
  const vi low = (reinterpret_cast<vi>(a << 16) >> 16) * (reinterpret_cast<vi>(b << 16) >> 16);
  return acc + reinterpret_cast<vu>(low + (x >> 16) * (y >> 16));
#endif
}
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
