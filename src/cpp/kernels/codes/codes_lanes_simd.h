// Vectors of 8-bit codes as integers, and numbers rounded to codes. Files that include this are compiled
// without contraction to fused multiply-adds (cmake/isa.cmake).
#pragma once

#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint8_t vbytes __attribute__((vector_size(kLanes)));
typedef uint8_t vbytes_any __attribute__((vector_size(kLanes), aligned(1), may_alias));
typedef int8_t vsigned __attribute__((vector_size(kLanes)));

[[maybe_unused]] inline vi load_ints(const int32_t* p) {
  return as_int(load(reinterpret_cast<const float*>(p)));
}
[[maybe_unused]] inline void store_ints(int32_t* p, vi x) { store(reinterpret_cast<float*>(p), as_float(x)); }

// By instructions of each set: of __builtin_convertvector between such sizes g++ 12 makes one step per lane
// (0.95 ns a code for an addition of two, 0.1 so).
template <bool Signed>
inline vi load_codes(const uint8_t* p) {
#if defined(WALLE_ISA_AVX512)
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<vi>(Signed ? _mm512_maskz_cvtepi8_epi32(0xffff, b)
                                     : _mm512_maskz_cvtepu8_epi32(0xffff, b));
#elif defined(WALLE_ISA_AVX2)
  const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<vi>(Signed ? _mm256_cvtepi8_epi32(b) : _mm256_cvtepu8_epi32(b));
#elif defined(__SSE4_1__)
  int32_t four;
  memcpy(&four, p, sizeof four);
  const __m128i b = _mm_cvtsi32_si128(four);
  return reinterpret_cast<vi>(Signed ? _mm_cvtepi8_epi32(b) : _mm_cvtepu8_epi32(b));
#elif defined(WALLE_ISA_NEON)
  uint32_t four;
  memcpy(&four, p, sizeof four);
  const uint8x8_t b = vreinterpret_u8_u32(vdup_n_u32(four));
  if constexpr (Signed) return reinterpret_cast<vi>(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(b)))));
  return reinterpret_cast<vi>(vmovl_u16(vget_low_u16(vmovl_u8(b))));
#else
  const vbytes b = *reinterpret_cast<const vbytes_any*>(p);
  if constexpr (Signed) return __builtin_convertvector(reinterpret_cast<vsigned>(b), vi);
  return __builtin_convertvector(b, vi);
#endif
}

// The low bytes.
inline void store_codes(uint8_t* p, vi x) {
#if defined(WALLE_ISA_AVX512)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(x)));
#elif defined(WALLE_ISA_AVX2)
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8,
                                       12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(x), low);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p),
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
#elif defined(__SSE4_1__)
  const __m128i low = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const int32_t four = _mm_cvtsi128_si32(_mm_shuffle_epi8(reinterpret_cast<__m128i>(x), low));
  memcpy(p, &four, sizeof four);
#elif defined(WALLE_ISA_NEON)
  const uint16x4_t halves = vmovn_u32(reinterpret_cast<uint32x4_t>(x));
  const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(halves, halves))), 0);
  memcpy(p, &four, sizeof four);
#else
  *reinterpret_cast<vbytes_any*>(p) = __builtin_convertvector(x, vbytes);
#endif
}

// x, half to even, plus a whole number: of numbers below 2^22 the sum with 1.5 * 2^23 has no room for a
// fraction, and lies among integers as numbers do.
inline vi rounded(vf x, int32_t plus) {
  constexpr float kWhole = 12582912.0f;
  constexpr int32_t kWholeBits = 0x4b400000;
  return as_int(x + splat(kWhole)) + (plus - kWholeBits);
}
// Bounds and what is added, in registers: read from memory they would be read again behind every store of
// bytes, which may be anything.
struct Rounding {
  vf low, high;
  int32_t plus;
  Rounding(float least, float most, int32_t zero) : low(splat(least)), high(splat(most)), plus(zero) {}
  vi operator()(vf x) const { return rounded(min_keep_nan(high, max_keep_nan(low, x)), plus); }
};

#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
// Four vectors of numbers to codes of four pixels side by side, 16 bytes apart: low <= round(x) <= high, plus
// zero, for bounds of 16 bits. Packed together they take half the instructions of one by one, because the
// lower bound and the zero point meet two vectors at once; below the lower bound a number that no integer
// holds is the least one.
struct RoundingOfFour {
  vf high;
  int16_t low, plus;
  RoundingOfFour(float least, float most, int32_t zero)
      : high(splat(most)), low(static_cast<int16_t>(least)), plus(static_cast<int16_t>(zero)) {}
#if defined(WALLE_ISA_AVX512)
  void operator()(uint8_t* y, vf a, vf b, vf c, vf d) const {
    const auto whole = [&](vf x) {
      return _mm512_maskz_cvtps_epi32(0xffff, reinterpret_cast<__m512>(min_keep_nan(high, x)));
    };
    const auto two = [&](__m512i p, __m512i q) {
      const __m512i codes = _mm512_add_epi16(
          _mm512_max_epi16(_mm512_packs_epi32(p, q), _mm512_set1_epi16(low)), _mm512_set1_epi16(plus));
      return _mm512_and_si512(codes, _mm512_set1_epi16(0xff));
    };
    const __m512i bytes = _mm512_packus_epi16(two(whole(a), whole(b)), two(whole(c), whole(d)));
    // Of four channels of each pixel, to the pixels.
    const __m512i turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(y, _mm512_maskz_permutexvar_epi32(0xffff, turn, bytes));
  }
#else
  void operator()(uint8_t* y, vf a, vf b, vf c, vf d) const {
    const auto whole = [&](vf x) {
      return _mm256_cvtps_epi32(reinterpret_cast<__m256>(min_keep_nan(high, x)));
    };
    const auto two = [&](__m256i p, __m256i q) {
      const __m256i codes = _mm256_add_epi16(
          _mm256_max_epi16(_mm256_packs_epi32(p, q), _mm256_set1_epi16(low)), _mm256_set1_epi16(plus));
      return _mm256_and_si256(codes, _mm256_set1_epi16(0xff));
    };
    const __m256i bytes = _mm256_packus_epi16(two(whole(a), whole(b)), two(whole(c), whole(d)));
    const __m256i turned = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const auto store_two = [](uint8_t* p, __m128i two_pixels) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), two_pixels);
      _mm_storeh_pd(reinterpret_cast<double*>(p + 16), _mm_castsi128_pd(two_pixels));
    };
    store_two(y, _mm256_castsi256_si128(turned));
    store_two(y + 32, _mm256_extracti128_si256(turned, 1));
  }
#endif
};
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
