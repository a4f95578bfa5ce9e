// Between rows of pixels, as tensors have them, and channels side by side, as the kernels of
// channel_lanes_simd.cc and blocked_simd.cc do, which alone include this. Blocks of 4 x 4: 128-bit
// vectors exist in every set, and 64 values take about 20 cycles (Zen 4).
#pragma once

#include "kernels/conv/channel_lanes_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

#if defined(WALLE_ISA_AVX512)
// Rows become columns: 64 shuffles for 256 values. By blocks of four the same takes twice as long, most of it
// for stores of 16 bytes.
inline __attribute__((always_inline)) void transpose16(vf (&r)[16]) {
  vf t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    t[i + 1] =
        __builtin_shufflevector(r[i], r[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  // Now four rows by four columns within each quarter of a vector.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const vf a = t[i + h];
      const vf b = t[i + h + 2];
      r[i + 2 * h] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      r[i + 2 * h + 1] =
          __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const vf a =
        __builtin_shufflevector(r[j], r[4 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const vf b =
        __builtin_shufflevector(r[j], r[4 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const vf c =
        __builtin_shufflevector(r[8 + j], r[12 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const vf d = __builtin_shufflevector(r[8 + j], r[12 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27,
                                         28, 29, 30, 31);
    t[j] = __builtin_shufflevector(a, c, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    t[4 + j] = __builtin_shufflevector(a, c, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    t[8 + j] = __builtin_shufflevector(b, d, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    t[12 + j] = __builtin_shufflevector(b, d, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}
#endif

// One row of a strip: pixels [from, to) of the image, at most `channels` channels, to [pixel][lane]. Blocks
// of four by four: 128-bit vectors exist in every set.
void spread_row(const float* row, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  int64_t ch = 0;
#if defined(WALLE_ISA_AVX512)
  if (channels == kLanes)
    for (; pixels >= kLanes; pixels -= kLanes) {
      vf r[16];
#pragma GCC unroll 16
      for (int q = 0; q < 16; ++q) r[q] = load(row + q * plane);
      transpose16(r);
#pragma GCC unroll 16
      for (int q = 0; q < 16; ++q) store(out + q * kLanes, r[q]);
      row += kLanes;
      out += kLanes * kLanes;
    }
#endif
  for (; ch + 4 <= channels; ch += 4) {
    const float* r = row + ch * plane;
    float* o = out + ch;
    int64_t x = 0;
    for (; x + 4 <= pixels; x += 4) {
      vf4 a = *reinterpret_cast<const vf4_any*>(r + x);
      vf4 b = *reinterpret_cast<const vf4_any*>(r + plane + x);
      vf4 c = *reinterpret_cast<const vf4_any*>(r + 2 * plane + x);
      vf4 d = *reinterpret_cast<const vf4_any*>(r + 3 * plane + x);
      transpose4(a, b, c, d);
      *reinterpret_cast<vf4_any*>(o + x * kLanes) = a;
      *reinterpret_cast<vf4_any*>(o + (x + 1) * kLanes) = b;
      *reinterpret_cast<vf4_any*>(o + (x + 2) * kLanes) = c;
      *reinterpret_cast<vf4_any*>(o + (x + 3) * kLanes) = d;
    }
    for (; x < pixels; ++x)
      for (int q = 0; q < 4; ++q) o[x * kLanes + q] = r[q * plane + x];
  }
  for (; ch < channels; ++ch)
    for (int64_t x = 0; x < pixels; ++x) out[x * kLanes + ch] = row[ch * plane + x];
  // Lanes without a channel are transformed with the others; rubbish there could be subnormal and slow.
  for (; ch < kLanes; ++ch)
    for (int64_t x = 0; x < pixels; ++x) out[x * kLanes + ch] = 0;
}

inline void clear(float* out, int64_t pixels) {
  for (int64_t x = 0; x < pixels; ++x) store(out + x * kLanes, vf{});
}

// Channels that lie side by side already. Lanes behind the last one hold any value and stay by themselves.
inline void copy_row(const float* row, int64_t pixel, int64_t pixels, float* out) {
  for (int64_t x = 0; x < pixels; ++x) store(out + x * kLanes, load(row + x * pixel));
}

[[maybe_unused]] void strip(const LaneStrip& s) {
  const int64_t left = min64(max64(-s.col, 0), s.cols);
  const int64_t right = max64(min64(s.w - s.col, s.cols), left);
  for (int64_t r = 0; r < s.rows; ++r) {
    float* out = s.out + r * s.cols * kLanes;
    const int64_t from = s.row + r;
    if (from < 0 || from >= s.h) {
      clear(out, s.cols);
      continue;
    }
    clear(out, left);
    const float* row = s.image + (from * s.w + s.col + left) * s.pixel;
    if (s.pixel > 1)
      copy_row(row, s.pixel, right - left, out + left * kLanes);
    else
      spread_row(row, s.plane, s.channels, right - left, out + left * kLanes);
    clear(out + right * kLanes, s.cols - right);
  }
}

// Where pixels of some channels go; at most `pixels` of a group of four exist.
struct Corner {
  float* out;
  const float* residual;  // or null
  int64_t plane;
  int64_t pixels, channels;
  bool bounded;
  float low, high;
};

template <int kPixels>
inline void emit(vf4 x, int64_t ch, const Corner& c) {
  const int64_t n = kPixels > 0 ? kPixels : c.pixels;
  float* to = c.out + ch * c.plane;
  if (c.residual) {
    const float* r = c.residual + ch * c.plane;
    vf4 shortcut = {};
    memcpy(&shortcut, r, n * sizeof(float));
    x += shortcut;
    if (c.bounded) {
      x = x < c.low ? vf4{c.low, c.low, c.low, c.low} : x;
      x = x > c.high ? vf4{c.high, c.high, c.high, c.high} : x;
    }
  }
  memcpy(to, &x, n * sizeof(float));
}

// Pixels [pixel][lane], from `col` on, to rows of channels. kPixels: how many there are; 0: Corner says so.
template <int kUnit, int kPixels>
inline void emit_pixels(const vf (&row)[kUnit], int col, const Corner& c) {
  const float* lanes = reinterpret_cast<const float*>(row) + col * kLanes;
  // A group of fewer than four pixels repeats its last one, which is not stored.
  const int last = kUnit - col < 4 ? kUnit - col - 1 : 3;
  for (int64_t ch = 0; ch < c.channels; ch += 4) {
    vf4 x0 = *reinterpret_cast<const vf4_any*>(lanes + ch);
    vf4 x1 = *reinterpret_cast<const vf4_any*>(lanes + kLanes + ch);
    vf4 x2 = *reinterpret_cast<const vf4_any*>(lanes + (last < 2 ? last : 2) * kLanes + ch);
    vf4 x3 = *reinterpret_cast<const vf4_any*>(lanes + last * kLanes + ch);
    transpose4(x0, x1, x2, x3);
    emit<kPixels>(x0, ch, c);
    if (ch + 1 < c.channels) emit<kPixels>(x1, ch + 1, c);
    if (ch + 2 < c.channels) emit<kPixels>(x2, ch + 2, c);
    if (ch + 3 < c.channels) emit<kPixels>(x3, ch + 3, c);
  }
}

template <int kUnit>
inline void emit_row(const vf (&row)[kUnit], int col, const Corner& c) {
  if (c.pixels == 4) return emit_pixels<kUnit, 4>(row, col, c);
  if (c.pixels == 2) return emit_pixels<kUnit, 2>(row, col, c);
  emit_pixels<kUnit, 0>(row, col, c);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
