// AVX-512 F, BW, DQ and VL.
//
// The maskz forms with all lanes on (0xffff): the plain intrinsics of g++ 12 pass an undefined vector, which
// -Wmaybe-uninitialized reports.
#pragma once

#include <immintrin.h>

#define WALLE_LANES 16
#include "kernels/simd/vectors.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kRegisters = 32;
constexpr bool kScalesInOne = true;

[[maybe_unused]] inline vf splat(float x) { return vf{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }

[[maybe_unused]] inline vf load_n(const float* p, int64_t n) {
  return reinterpret_cast<vf>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
}
[[maybe_unused]] inline void store_n(float* p, vf x, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(x));
}

using Lanes = __mmask16;
[[maybe_unused]] inline Lanes lanes_between(int64_t first, int64_t last) {
  const int64_t from = first < 0 ? 0 : first > kLanes ? kLanes : first;
  const int64_t to = last < from ? from : last > kLanes ? kLanes : last;
  return static_cast<__mmask16>((1u << to) - (1u << from));
}
[[maybe_unused]] inline vf load_lanes(const float* p, Lanes which) {
  return reinterpret_cast<vf>(_mm512_maskz_loadu_ps(which, p));
}

[[maybe_unused]] inline vf even_lanes(vf a, vf b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
[[maybe_unused]] inline vf odd_lanes(vf a, vf b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
[[maybe_unused]] inline vf shifted(vf x, float last) {
  return __builtin_shufflevector(x, splat(last), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}
[[maybe_unused]] inline vf other_of_pair(vf x) {
  return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}
template <int k>
[[maybe_unused]] inline vf splat_of_four(vf x) {
  return __builtin_shufflevector(x, x, k, k, k, k, k + 4, k + 4, k + 4, k + 4, k + 8, k + 8, k + 8, k + 8,
                                 k + 12, k + 12, k + 12, k + 12);
}

[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(
      _mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(limit), reinterpret_cast<__m512>(x)));
}
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(
      _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(limit), reinterpret_cast<__m512>(x)));
}

[[maybe_unused]] inline vf quotient(vf x, vf y) {
  const auto divisor = reinterpret_cast<__m512>(y);
  const __m512 inverse = _mm512_maskz_rcp14_ps(0xffff, divisor);
  const __m512 first = _mm512_mul_ps(reinterpret_cast<__m512>(x), inverse);
  // Too much rather than too little: -0 minus a rest of +0 keeps its sign.
  const __m512 excess = _mm512_fmsub_ps(divisor, first, reinterpret_cast<__m512>(x));
  return reinterpret_cast<vf>(_mm512_fnmadd_ps(inverse, excess, first));
}
[[maybe_unused]] inline vf scaled(vf x, vf n) {
  return reinterpret_cast<vf>(
      _mm512_maskz_scalef_ps(0xffff, reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(n)));
}
[[maybe_unused]] inline vf square_root(vf x) {
  return reinterpret_cast<vf>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
}
[[maybe_unused]] inline bool any(vi mask) {
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
