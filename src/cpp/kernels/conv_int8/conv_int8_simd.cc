// The convolution of codes by pairs of int16, whose zero points are taken off when rows become words.
#include "kernels/simd/pairs.h"

// Behind the words that its tiles multiply by.
#include "kernels/conv_int8/conv_int8_tile.h"
#include "kernels/conv_int8/winograd_int8_simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// By pixels, so that rows of a few of them leave nothing to do one by one.
template <bool Signed>
inline void widen(const uint8_t* from, int64_t count, int32_t zero, vpixel_any* out) {
  const vpixel less = vpixel{} + static_cast<int16_t>(zero);
  for (int64_t i = 0; i < count / kBlock; ++i, from += kBlock) {
    vpixel pixel;
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    pixel = reinterpret_cast<vpixel>(Signed ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes));
#else
    for (int c = 0; c < kBlock; ++c) pixel[c] = Signed ? static_cast<int8_t>(from[c]) : from[c];
#endif
    out[i] = pixel - less;
  }
}
void to_words(const uint8_t* from, int64_t count, bool is_signed, int32_t zero, uint32_t* out) {
  vpixel_any* const to = reinterpret_cast<vpixel_any*>(out);
  is_signed ? widen<true>(from, count, zero, to) : widen<false>(from, count, zero, to);
}

inline void store_pair(uint32_t* out, vpixel a, vpixel b) {
  vpixel_any* const to = reinterpret_cast<vpixel_any*>(out);  // not auto, which g++ makes an aligned vector
  to[0] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  to[1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// A pixel is read before words are written over it: those of `p` end where pixel p + 1 of a second half
// begins.
void taps_to_words(const uint32_t* from, int64_t pixels, int64_t every, int64_t apart, uint32_t* out) {
  const vpixel_any* const x = reinterpret_cast<const vpixel_any*>(from);
  int64_t p = 0;
  for (; p + apart < pixels; p += every) store_pair(out + p * kBlock, x[p], x[p + apart]);
  for (; p < pixels; p += every) store_pair(out + p * kBlock, x[p], vpixel{});
}

inline uint32_t half(const uint8_t* from, bool is_signed, int32_t zero) {
  const int32_t code = is_signed ? static_cast<int8_t>(*from) : *from;
  return static_cast<uint32_t>(code - zero) & 0xffffu;
}

// Two words are what an image of three or four channels has: one store a pixel, of which compilers make
// vectors.
template <bool Signed>
inline void two_words(const uint8_t* from, int64_t plane, int64_t channels, int64_t pixels, int32_t zero,
                      uint32_t* out) {
  typedef uint64_t both __attribute__((aligned(4), may_alias));
  both* const to = reinterpret_cast<both*>(out);
  const uint64_t last = channels == 4 ? ~uint64_t{0} : 0xffffffffffff;
  const uint8_t *a = from, *b = a + plane, *c = b + plane, *d = channels == 4 ? c + plane : c;
  const auto part = [zero](uint8_t code) -> uint64_t {
    return static_cast<uint16_t>((Signed ? static_cast<int8_t>(code) : code) - zero);
  };
  for (int64_t p = 0; p < pixels; ++p)
    to[p] = (part(a[p]) | part(b[p]) << 16 | part(c[p]) << 32 | part(d[p]) << 48) & last;
}

void rows_to_words(const uint8_t* from, int64_t plane, int64_t channels, int64_t pixels, bool is_signed,
                   int32_t zero, int64_t words_each, uint32_t* out) {
  if (words_each == 2 && channels > 2)
    return is_signed ? two_words<true>(from, plane, channels, pixels, zero, out)
                     : two_words<false>(from, plane, channels, pixels, zero, out);
  for (int64_t q = 0; q < words_each; ++q, from += 2 * plane) {
    const int64_t left = channels - 2 * q;
    for (int64_t p = 0; p < pixels; ++p)
      out[p * words_each + q] = (left > 0 ? half(from + p, is_signed, zero) : 0) |
                                (left > 1 ? half(from + plane + p, is_signed, zero) << 16 : 0);
  }
}
}  // namespace

extern const ConvInt8Table kConvInt8;
const ConvInt8Table kConvInt8 = {.lanes = kLanes,
                                 .rows = kMr,
                                 .step = 2,
                                 .dense = dense,
                                 .depthwise = depthwise,
                                 .to_words = to_words,
                                 .taps_to_words = taps_to_words,
                                 .image_to_points = image_to_points,
                                 .winograd_panel = winograd_panel,
                                 .rows_to_words = rows_to_words};

}  // namespace walle::kernels::WALLE_ISA_NS
