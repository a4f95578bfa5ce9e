// Between rows of pixels, as tensors have them, and channels side by side, as the kernels of
// channel_lanes_simd.cc do, which alone includes this. Blocks of four by four: 128-bit vectors exist in every
// set, and 64 values take about 20 cycles (Zen 4).
#pragma once

#include "kernels/conv/channel_lanes_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

// One row of a strip: pixels [from, to) of the image, at most `channels` channels, to [pixel][lane]. Blocks
// of four by four: 128-bit vectors exist in every set.
void spread_row(const float* row, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  int64_t ch = 0;
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

void strip(const LaneStrip& s) {
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
    spread_row(s.image + from * s.w + s.col + left, s.plane, s.channels, right - left, out + left * kLanes);
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
