// Codes by int8 where there is no product of four bytes: codes of 4 bits by vpmaddubsw, whose sums of
// two stay below 2 * 15 * 127 = 3,810 and cannot saturate, and those of 8 bits as int16.
#include "kernels/simd.h"
// Behind simd.h.
#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_AVX512)
inline vu pairs16(vu x, vu y) {
  return reinterpret_cast<vu>(_mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
}
inline vu pairs8(vu x, vu y) {
  return reinterpret_cast<vu>(
      _mm512_maddubs_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
}
#elif defined(WALLE_ISA_AVX2)
inline vu pairs16(vu x, vu y) {
  return reinterpret_cast<vu>(_mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
}
inline vu pairs8(vu x, vu y) {
  return reinterpret_cast<vu>(
      _mm256_maddubs_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
}
#elif defined(__SSSE3__)
inline vu pairs16(vu x, vu y) {
  return reinterpret_cast<vu>(_mm_madd_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
}
inline vu pairs8(vu x, vu y) {
  return reinterpret_cast<vu>(_mm_maddubs_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
}
#elif defined(WALLE_ISA_NEON)
// Eight products of int8, and the sums of each two in int16.
inline int16x8_t first_products(vu x, vu y) {
  return vmull_s8(vget_low_s8(reinterpret_cast<int8x16_t>(x)), vget_low_s8(reinterpret_cast<int8x16_t>(y)));
}
inline int16x8_t last_products(vu x, vu y) {
  return vmull_high_s8(reinterpret_cast<int8x16_t>(x), reinterpret_cast<int8x16_t>(y));
}
#else
#define WALLE_NBITS_PLAIN 1
#endif

#if defined(WALLE_ISA_NEON)
constexpr bool kSignedCodes = true;
#else
constexpr bool kSignedCodes = false;
#endif

#if defined(WALLE_NBITS_PLAIN)
// A call, because nobody waits for the scalar set, and 30 of these are as many KB.
template <int B>
__attribute__((noinline)) vu dot(vu acc, vu codes, vu a) {
  const vi x = reinterpret_cast<vi>(codes), y = reinterpret_cast<vi>(a);
#pragma GCC unroll 1
  for (int i = 0; i < 4; ++i)
    acc += reinterpret_cast<vu>(((x >> (8 * i)) & 0xff) * ((y << (24 - 8 * i)) >> 24));
  return acc;
}
#elif defined(WALLE_ISA_NEON)
// Sums of two products fit an int16 of codes below 16, and not of those of 8 bits.
template <int B>
inline vu dot(vu acc, vu codes, vu a) {
  const int16x8_t first = first_products(codes, a), last = last_products(codes, a);
  if constexpr (B < 8)
    return reinterpret_cast<vu>(vpadalq_s16(reinterpret_cast<int32x4_t>(acc), vpaddq_s16(first, last)));
  return acc + reinterpret_cast<vu>(vpaddq_s32(vpaddlq_s16(first), vpaddlq_s16(last)));
}
#else
template <int B>
inline vu dot(vu acc, vu codes, vu a) {
  if (B < 8) return acc + pairs16(pairs8(codes, a), splat_word(0x00010001u));
  typedef int16_t vs __attribute__((vector_size(kLanes * 4)));
  const vs both = reinterpret_cast<vs>(a);
  const vu mask = splat_word(0x00ff00ffu);
  return acc + (pairs16(codes & mask, reinterpret_cast<vu>((both << 8) >> 8)) +
                pairs16((codes >> 8) & mask, reinterpret_cast<vu>(both >> 8)));
}
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#include "kernels/gemm_nbits/nbits_dot.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const NBitsDotTable kGemmNBitsDot;
const NBitsDotTable kGemmNBitsDot = {.nr = kNr, .few_rows = 3, .block = block};

}  // namespace walle::kernels::WALLE_ISA_NS
