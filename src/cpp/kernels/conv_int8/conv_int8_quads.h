// What stands on quads of bytes, in any instruction set. Codes of the sign that products do not take get 128
// added, or lose it, and so does their zero point, which sums begin with (conv_int8.h).
#pragma once

#include "kernels/conv_int8/conv_int8_tile.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_NEON)
// Four pixels' bytes of each channel: word c holds p[c], p[c + 16], p[c + 32] and p[c + 48].
inline void four_taps(const uint8_t* p, uint32_t* out) {
  const uint8x16x4_t pixels = {vld1q_u8(p), vld1q_u8(p + kBlock), vld1q_u8(p + 2 * kBlock),
                               vld1q_u8(p + 3 * kBlock)};
  vst4q_u8(reinterpret_cast<uint8_t*>(out), pixels);
}
#else
// Those of a vector of channels.
inline vu four_pixels(const uint8_t* p, int lane) {
#if defined(WALLE_ISA_AVX512)
  (void)lane;
  // Four lines of 16 bytes: words of the same channels together, then their bytes.
  const __m512i turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_maskz_broadcast_i32x4(
      0xffff, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m512i lines = _mm512_maskz_loadu_epi32(0xffff, p);
  return reinterpret_cast<vu>(
      _mm512_maskz_shuffle_epi8(~0ULL, _mm512_maskz_permutexvar_epi32(0xffff, turn, lines), bytes));
#elif defined(WALLE_ISA_AVX2)
  const auto line = [&](int64_t q) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + q * kBlock + lane));
  };
  const __m128i first = _mm_unpacklo_epi8(line(0), line(1));
  const __m128i second = _mm_unpacklo_epi8(line(2), line(3));
  return reinterpret_cast<vu>(_mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_unpacklo_epi16(first, second)), _mm_unpackhi_epi16(first, second), 1));
#else
  vu out = {};
  for (int c = 0; c < kLanes; ++c)
    for (int q = 0; q < 4; ++q) out[c] |= static_cast<uint32_t>(p[q * kBlock + lane + c]) << (8 * q);
  return out;
#endif
}

inline void four_taps(const uint8_t* p, uint32_t* out) {
  for (int lane = 0; lane < kBlock; lane += kLanes) store_words(out + lane, four_pixels(p, lane));
}
#endif

// A pixel is read before words are written over it, as by pairs; of the last ones what lies behind them
// counts with weights that are zero.
void taps_to_words(const uint32_t* from, int64_t pixels, int64_t every, int64_t, uint32_t* out) {
  const auto* x = reinterpret_cast<const uint8_t*>(from);
  for (int64_t p = 0; p < pixels; p += every) four_taps(x + p * kBlock, out + p * kBlock);
}

void to_words(const uint8_t* from, int64_t count, bool is_signed, int32_t, uint32_t* out) {
  // By pixels, so that rows of a few of them leave nothing to do one by one.
  typedef uint64_t pixel __attribute__((vector_size(kBlock), aligned(1), may_alias));
  const uint64_t flip = is_signed != kSignedQuads ? 0x8080808080808080 : 0;
  const pixel* const x = reinterpret_cast<const pixel*>(from);
  pixel* const to = reinterpret_cast<pixel*>(out);
  for (int64_t i = 0; i < count / kBlock; ++i) to[i] = x[i] ^ flip;
}

// One word each is what an image of three or four channels has.
template <bool Whole>
inline void pack_words(const uint8_t* from, int64_t plane, int64_t channels, int64_t pixels, uint32_t flip,
                       int64_t step, uint32_t* out) {
  const uint8_t* rows[4];
  for (int64_t q = 0; q < 4; ++q) rows[q] = from + (q < channels ? q : 0) * plane;
  const uint32_t least = channels >= 4 ? 0xffffffffu : (1u << (8 * channels)) - 1;
  for (int64_t p = 0; p < pixels; ++p) {
    const uint32_t word = static_cast<uint32_t>(rows[0][p]) | static_cast<uint32_t>(rows[1][p]) << 8 |
                          static_cast<uint32_t>(rows[2][p]) << 16 | static_cast<uint32_t>(rows[3][p]) << 24;
    out[Whole ? p : p * step] = (word ^ flip) & least;
  }
}

void rows_to_words(const uint8_t* from, int64_t plane, int64_t channels, int64_t pixels, bool is_signed,
                   int32_t, int64_t words_each, uint32_t* out) {
  const uint32_t flip = is_signed != kSignedQuads ? 0x80808080u : 0;
  for (int64_t q = 0; q < words_each; ++q, from += 4 * plane, channels -= 4) {
    if (channels <= 0) {
      for (int64_t p = 0; p < pixels; ++p) out[p * words_each + q] = 0;
      continue;
    }
    words_each == 1 ? pack_words<true>(from, plane, channels, pixels, flip, 1, out)
                    : pack_words<false>(from, plane, channels, pixels, flip, words_each, out + q);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
