// Words of two bfloat16, and their products in float32: vdpbf16ps and vcvtne2ps2bf16 of AVX512_BF16; bfdot,
// bfmmla and bfcvtn of ARMv8.6.
//
// Rounding is half to even, subnormal numbers count as zeros, NaN stays NaN, and what is too large is
// infinity: of the instructions, and of bfloat_of() alike; but bfcvtn keeps subnormal numbers, for products
// that count them as zeros. Tests have the same words lane by lane.
//
//   products(acc, a, b)  acc + the products of each lane's two elements
//   in_order(low, high)  elements of two vectors that follow one another: word i is (x[2i], x[2i + 1])
//   in_pairs(even, odd)  word i is (even[i], odd[i])
//   in_panel(even, odd)  the same: what tiles read as weights
//   narrowed(x)          elements by themselves
//   kPairsOfRows         whether two words of two rows are multiplied by those of two columns at once, by
//   squares(acc, a, b)   acc + {a0 b0, a0 b1, a1 b0, a1 b1}, where a0 is the first two words of a
#pragma once

#include "kernels/simd/bfloat_image.h"
#include "kernels/simd/bfloat_of.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_NEON)
constexpr bool kPairsOfRows = true;

inline bfloat16x8_t bfloats(vu x) { return reinterpret_cast<bfloat16x8_t>(x); }
inline float32x4_t floats(vf x) { return reinterpret_cast<float32x4_t>(x); }

inline vf products(vf acc, vu a, vu b) {
  return reinterpret_cast<vf>(vbfdotq_f32(floats(acc), bfloats(a), bfloats(b)));
}
inline vf squares(vf acc, vu a, vu b) {
  return reinterpret_cast<vf>(vbfmmlaq_f32(floats(acc), bfloats(a), bfloats(b)));
}

inline vu in_order(vf low, vf high) {
  return reinterpret_cast<vu>(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(floats(low)), floats(high)));
}
inline vu in_pairs(vf even, vf odd) {
  const auto x = reinterpret_cast<uint16x8_t>(in_order(even, odd));
  return reinterpret_cast<vu>(vzip1q_u16(x, vextq_u16(x, x, 4)));
}
[[maybe_unused]] inline vb narrowed(vf x) { return reinterpret_cast<vb>(vcvt_bf16_f32(floats(x))); }
#else
constexpr bool kPairsOfRows = false;

inline vf products(vf acc, vu a, vu b) {
  return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(acc), reinterpret_cast<__m512bh>(a),
                                               reinterpret_cast<__m512bh>(b)));
}

inline vu in_order(vf low, vf high) {
  return reinterpret_cast<vu>(
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low)));
}

inline vu in_pairs(vf even, vf odd) {
  typedef uint16_t vs __attribute__((vector_size(64)));
  const vs x = reinterpret_cast<vs>(in_order(even, odd));
  return reinterpret_cast<vu>(__builtin_shufflevector(x, x, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                                      7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                                      30, 15, 31));
}

[[maybe_unused]] inline vb narrowed(vf x) {
  return reinterpret_cast<vb>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
}
#endif

[[maybe_unused]] inline vu in_panel(vf even, vf odd) { return in_pairs(even, odd); }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
