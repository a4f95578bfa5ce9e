// Portable SIMD over GCC/Clang vector extensions: one float
// vector `vf` of the width of the set being compiled.
//
// Only *_simd.cc files include this. Everything has internal linkage and lives in the
// set's own namespace: an inline function shared with ordinary files could be linked
// in the version compiled with the higher flags and crash old machines. For the same
// reason those files use no templates or inline functions of the standard library.
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_AVX512)
constexpr int kLanes = 16;
#elif defined(WALLE_ISA_AVX2)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;  // the baseline of x86-64 and of arm64 has 128-bit vectors
#endif

typedef float vf __attribute__((vector_size(kLanes * 4)));
typedef int32_t vi __attribute__((vector_size(kLanes * 4)));
// For unaligned memory: `aligned(4)` makes loads and stores unaligned ones, which cost nothing extra on
// aligned data since 2008, and `may_alias` lets them read bytes of any type.
typedef float vf_any __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef float vf4 __attribute__((vector_size(16)));
typedef float vf4_any __attribute__((vector_size(16), aligned(4), may_alias));

// Spelled out: `vf{} + x` would cost an addition, because it turns -0 into 0.
[[maybe_unused]] inline vf splat(float x) {
#if defined(WALLE_ISA_AVX512)
  return vf{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#elif defined(WALLE_ISA_AVX2)
  return vf{x, x, x, x, x, x, x, x};
#else
  return vf{x, x, x, x};
#endif
}
[[maybe_unused]] inline vf load(const float* p) { return *reinterpret_cast<const vf_any*>(p); }
[[maybe_unused]] inline void store(float* p, vf x) { *reinterpret_cast<vf_any*>(p) = x; }
[[maybe_unused]] inline vf as_float(vi x) { return reinterpret_cast<vf>(x); }
[[maybe_unused]] inline vi as_int(vf x) { return reinterpret_cast<vi>(x); }

// The first n lanes, 0 <= n <= kLanes; the others read as 0 and are not written.
[[maybe_unused]] inline vf load_n(const float* p, int64_t n) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
#else
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
#endif
}
[[maybe_unused]] inline void store_n(float* p, vf x, int64_t n) {
#if defined(WALLE_ISA_AVX512)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(x));
#else
  float lanes[kLanes];
  store(lanes, x);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// Which lanes of a vector a load touches.
#if defined(WALLE_ISA_AVX512)
using Lanes = __mmask16;
#elif defined(WALLE_ISA_AVX2)
using Lanes = vi;
#else
struct Lanes {
  int first, last;
};
#endif

// Lanes first <= l < last. Any bounds.
[[maybe_unused]] inline Lanes lanes_between(int64_t first, int64_t last) {
  const int64_t from = first < 0 ? 0 : first > kLanes ? kLanes : first;
  const int64_t to = last < from ? from : last > kLanes ? kLanes : last;
#if defined(WALLE_ISA_AVX512)
  return static_cast<__mmask16>((1u << to) - (1u << from));
#elif defined(WALLE_ISA_AVX2)
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (lane >= static_cast<int32_t>(from)) & (lane < static_cast<int32_t>(to));
#else
  return {static_cast<int>(from), static_cast<int>(to)};
#endif
}

// The other lanes read as 0 and their memory is not touched, so p may point outside of an array.
[[maybe_unused]] inline vf load_lanes(const float* p, Lanes which) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(_mm512_maskz_loadu_ps(which, p));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(which)));
#else
  float lanes[kLanes] = {};
  for (int i = which.first; i < which.last; ++i) lanes[i] = p[i];
  return load(lanes);
#endif
}

// Every second lane of a and then of b, from the first or from the second on.
[[maybe_unused]] inline vf even_lanes(vf a, vf b) {
#if defined(WALLE_ISA_AVX512)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(WALLE_ISA_AVX2)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}
[[maybe_unused]] inline vf odd_lanes(vf a, vf b) {
#if defined(WALLE_ISA_AVX512)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(WALLE_ISA_AVX2)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

// Lane k of every four lanes, in all of the four.
template <int k>
[[maybe_unused]] inline vf splat_of_four(vf x) {
#if defined(WALLE_ISA_AVX512)
  return __builtin_shufflevector(x, x, k, k, k, k, k + 4, k + 4, k + 4, k + 4, k + 8, k + 8, k + 8, k + 8,
                                 k + 12, k + 12, k + 12, k + 12);
#elif defined(WALLE_ISA_AVX2)
  return __builtin_shufflevector(x, x, k, k, k, k, k + 4, k + 4, k + 4, k + 4);
#else
  return __builtin_shufflevector(x, x, k, k, k, k);
#endif
}

// A NaN in x stays (the x86 instructions return their second operand when either is NaN).
// The maskz form with all lanes on (0xffff): the plain intrinsic of g++ 12 passes an undefined vector, which
// -Wmaybe-uninitialized reports.
[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(
      _mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(limit), reinterpret_cast<__m512>(x)));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vf>(_mm256_max_ps(reinterpret_cast<__m256>(limit), reinterpret_cast<__m256>(x)));
#elif defined(__x86_64__)
  return reinterpret_cast<vf>(_mm_max_ps(reinterpret_cast<__m128>(limit), reinterpret_cast<__m128>(x)));
#else
  return limit > x ? limit : x;
#endif
}
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(
      _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(limit), reinterpret_cast<__m512>(x)));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vf>(_mm256_min_ps(reinterpret_cast<__m256>(limit), reinterpret_cast<__m256>(x)));
#elif defined(__x86_64__)
  return reinterpret_cast<vf>(_mm_min_ps(reinterpret_cast<__m128>(limit), reinterpret_cast<__m128>(x)));
#else
  return limit < x ? limit : x;
#endif
}

// The two reductions go through memory: they run once per row, and a shuffle for every width would need
// intrinsics. Halving, not left to right, because pairwise sums round less.
[[maybe_unused]] inline float sum_lanes(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}
[[maybe_unused]] inline float max_lanes(vf x) {
  float lanes[kLanes];
  store(lanes, x);
  float best = lanes[0];
  for (int i = 1; i < kLanes; ++i) best = lanes[i] > best || lanes[i] != lanes[i] ? lanes[i] : best;
  return best;
}

// The sign is the top bit of an IEEE 754 number.
[[maybe_unused]] inline vf abs(vf x) { return as_float(as_int(x) & 0x7fffffff); }
[[maybe_unused]] inline vf copy_sign(vf magnitude, vf sign) {
  return as_float((as_int(magnitude) & 0x7fffffff) | (as_int(sign) & static_cast<int32_t>(0x80000000)));
}
[[maybe_unused]] inline vi to_int_truncated(vf x) { return __builtin_convertvector(x, vi); }
[[maybe_unused]] inline vf to_float(vi x) { return __builtin_convertvector(x, vf); }

// x / y of finite numbers, y from 2^-100 to 2^100, where dividing takes as long as ten multiply-adds: a
// reciprocal of 14 bits and what its product is beyond x, off by 0.54 units in the last place.
[[maybe_unused]] inline vf quotient(vf x, vf y) {
#if defined(WALLE_ISA_AVX512)
  const auto divisor = reinterpret_cast<__m512>(y);
  const __m512 inverse = _mm512_maskz_rcp14_ps(0xffff, divisor);
  const __m512 first = _mm512_mul_ps(reinterpret_cast<__m512>(x), inverse);
  // Too much rather than too little: -0 minus a rest of +0 keeps its sign.
  const __m512 excess = _mm512_fmsub_ps(divisor, first, reinterpret_cast<__m512>(x));
  return reinterpret_cast<vf>(_mm512_fnmadd_ps(inverse, excess, first));
#else
  return x / y;
#endif
}

// x * 2^n for whole n from -150 to 128 and x from 1/2 to 2; subnormal where that is the result.
[[maybe_unused]] inline vf scaled(vf x, vf n) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(
      _mm512_maskz_scalef_ps(0xffff, reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(n)));
#else
  // Two factors, because 2^n alone leaves the range of a float where the result is still a number.
  const vi power = to_int_truncated(n);
  const vi half = power >> 1;
  return x * as_float((half + 127) << 23) * as_float((power - half + 127) << 23);
#endif
}

[[maybe_unused]] inline vf square_root(vf x) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vf>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif defined(__x86_64__)
  return reinterpret_cast<vf>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#else
  vf root;
  for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(x[i]);
  return root;
#endif
}

// Transposes the 4 x 4 block whose rows are a, b, c, d.
[[maybe_unused]] inline void transpose4(vf4& a, vf4& b, vf4& c, vf4& d) {
  const vf4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const vf4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const vf4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const vf4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
