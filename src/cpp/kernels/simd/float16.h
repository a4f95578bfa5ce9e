// Words of two float16 and arithmetic in float16, of ARMv8.2: as many numbers in a vector as kLanes says,
// which are eight (WALLE_EIGHT_FLOATS). Rounding is half to even; what is beyond 65,504 is infinity.
//
//   vh                       kLanes numbers
//   TwoSteps, two_steps(p)   of kLanes words of a panel at p: the first numbers of all, then the second ones
//   word_at(p)               the two numbers of one word
//   add_product<k>(acc, b, word)   acc + b times number k of the word, rounded once
//   add_to(sums, x, first)   adds x in float32 to kLanes floats, or is the first of them
//   in_order, in_pairs, pair_of    as of bfloat16 (simd/bfloat.h)
//   in_panel(even, odd)      words of a panel: their halves apart, because parting them in a tile takes 8 of
//                            139 instructions, in the pipes that multiply
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef float16x8_t vh;
struct TwoSteps {
  vh first, second;
};

inline TwoSteps two_steps(const uint32_t* p) {
  return {vreinterpretq_f16_u32(vld1q_u32(p)), vreinterpretq_f16_u32(vld1q_u32(p + kLanes / 2))};
}

inline float16x4_t word_at(const uint32_t* p) {
  float two = 0;
  memcpy(&two, p, sizeof two);
  return vreinterpret_f16_f32(float32x2_t{two, 0});
}

inline vh no_sum() { return vdupq_n_f16(0); }
// As it is written, because of vfmaq_lane_f16 g++ 12 makes a copy of the number in every lane first.
template <int k>
inline vh add_product(vh acc, vh b, float16x4_t word) {
#if defined(__clang__)
  return vfmaq_lane_f16(acc, b, word, k);
#else
  __asm__("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(acc) : "w"(b), "x"(word), "i"(k));
  return acc;
#endif
}

inline void add_to(float* sums, vh x, bool first) {
  float32x4_t low = vcvt_f32_f16(vget_low_f16(x)), high = vcvt_high_f32_f16(x);
  if (!first) {
    low = vaddq_f32(vld1q_f32(sums), low);
    high = vaddq_f32(vld1q_f32(sums + 4), high);
  }
  vst1q_f32(sums, low);
  vst1q_f32(sums + 4, high);
}

inline uint16x8_t rounded(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(lanes)), vld1q_f32(lanes + 4)));
}
inline vu words_of(uint16x8_t low, uint16x8_t high) {
  uint16_t both[2 * kLanes];
  vst1q_u16(both, low);
  vst1q_u16(both + 8, high);
  return load_words(both);
}
inline vu in_order(vf low, vf high) { return words_of(rounded(low), rounded(high)); }
inline vu in_pairs(vf even, vf odd) {
  const uint16x8_t first = rounded(even), second = rounded(odd);
  return words_of(vzip1q_u16(first, second), vzip2q_u16(first, second));
}
inline vu in_panel(vf even, vf odd) { return words_of(rounded(even), rounded(odd)); }

inline uint32_t pair_of(float first, float second) {
  const __fp16 two[2] = {static_cast<__fp16>(first), static_cast<__fp16>(second)};
  uint32_t word = 0;
  memcpy(&word, two, sizeof word);
  return word;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
