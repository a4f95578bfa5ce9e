// How codes come out of their words, for the files of this family that stand on kernels/simd.h.
#pragma once

#include "kernels/gemm_nbits/nbits_table.h"
#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint8_t vb __attribute__((vector_size(kLanes)));
typedef uint8_t vb_any __attribute__((vector_size(kLanes), aligned(1), may_alias));

constexpr int kVectors = 2;  // of a panel
constexpr int kNr = kVectors * kLanes;

[[maybe_unused]] inline vu load_bytes(const uint8_t* p) {
  return __builtin_convertvector(*reinterpret_cast<const vb_any*>(p), vu);
}
[[maybe_unused]] inline vf word_floats(vu x) { return reinterpret_cast<vf>(x); }

// Codes of one half of a word: fields of 16 bits.
template <int B>
constexpr int kFields = 16 / B;
template <int B>
constexpr uint32_t kCode = (1u << B) - 1;

// Field f of half h of a word holds this step of its granule.
template <int B>
constexpr int step_of(int h, int f) {
  const int bit = 16 * h + B * f;
  return 4 * (bit % 8 / B) + bit / 8;
}

// The power of two whose mantissa ends with field f, as bits.
template <int B>
constexpr uint32_t power_of(int f) {
  return static_cast<uint32_t>(150 - B * f) << 23;
}

template <int B>
inline vf field(vu x, int f) {
  return word_floats((x & splat_word(kCode<B> << (B * f))) | splat_word(power_of<B>(f)));
}

// What field() gives for the zero points.
template <int B>
inline vf zero_field(vu zero, int f) {
  return word_floats((zero << (B * f)) | splat_word(power_of<B>(f)));
}

template <int B>
inline vu zeros_of(const NBitsPanel& b, int v) {
  return b.zero_codes ? load_bytes(b.zero_codes + v * kLanes) : splat_word(b.zeros ? 0u : 1u << (B - 1));
}

inline void to_next_block(NBitsPanel& b, int64_t words) {
  b.codes += words * kNr;
  b.scales += kNr;
  if (b.zero_codes) b.zero_codes += kNr;
  if (b.zeros) b.zeros += kNr;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
