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
#else
#define WALLE_NBITS_PLAIN 1
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
