// Between rows of pixels and blocks of channels. Only blocked_simd.cc includes this.
//
// Squares of sixteen where vectors hold sixteen, else of four: 128-bit vectors exist in every set.
#pragma once

#include "kernels/conv/lane_rows_simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline void turn_four(const float* x, int64_t x_step, float* out, int64_t out_step) {
  vf4 a = *reinterpret_cast<const vf4_any*>(x);
  vf4 b = *reinterpret_cast<const vf4_any*>(x + x_step);
  vf4 c = *reinterpret_cast<const vf4_any*>(x + 2 * x_step);
  vf4 d = *reinterpret_cast<const vf4_any*>(x + 3 * x_step);
  transpose4(a, b, c, d);
  *reinterpret_cast<vf4_any*>(out) = a;
  *reinterpret_cast<vf4_any*>(out + out_step) = b;
  *reinterpret_cast<vf4_any*>(out + 2 * out_step) = c;
  *reinterpret_cast<vf4_any*>(out + 3 * out_step) = d;
}

#if defined(WALLE_ISA_AVX512)
// As many rows and columns as there are, at most sixteen. What rows lack becomes zero in `lanes` lanes.
inline void turn_sixteen(const float* x, int64_t x_step, int64_t rows, int64_t cols, float* out,
                         int64_t out_step, int64_t lanes) {
  vf r[16];
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q) r[q] = q < rows ? load_n(x + q * x_step, cols) : vf{};
  transpose16(r);
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q)
    if (q < cols) store_n(out + q * out_step, r[q], lanes);
}

inline void turn_whole(const float* x, int64_t x_step, float* out, int64_t out_step) {
  vf r[16];
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q) r[q] = load(x + q * x_step);
  transpose16(r);
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q) store(out + q * out_step, r[q]);
}

void from_rows(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  int64_t p = 0;
  if (channels == kBlock)
    for (; p + 16 <= pixels; p += 16) turn_whole(x + p, plane, out + p * kBlock, kBlock);
  for (; p < pixels; p += 16)
    turn_sixteen(x + p, plane, channels, min64(pixels - p, 16), out + p * kBlock, kBlock, kBlock);
}

void to_rows(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  int64_t p = 0;
  if (channels == kBlock)
    for (; p + 16 <= pixels; p += 16) turn_whole(x + p * kBlock, kBlock, out + p, plane);
  for (; p < pixels; p += 16) {
    const int64_t n = min64(pixels - p, 16);
    turn_sixteen(x + p * kBlock, kBlock, n, channels, out + p, plane, n);
  }
}
#else
// Rows [rows][x_step] of `cols` to columns.
void turn(const float* x, int64_t x_step, int64_t rows, int64_t cols, float* out, int64_t out_step) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= cols; c += 4) turn_four(x + r * x_step + c, x_step, out + c * out_step + r, out_step);
    for (; c < cols; ++c)
      for (int64_t q = r; q < r + 4; ++q) out[c * out_step + q] = x[q * x_step + c];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) out[c * out_step + r] = x[r * x_step + c];
}

void from_rows(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  turn(x, plane, channels, pixels, out, kBlock);
  // Rubbish in lanes without a channel could be subnormal and slow.
  for (int64_t p = 0; channels < kBlock && p < pixels; ++p)
    for (int64_t ch = channels; ch < kBlock; ++ch) out[p * kBlock + ch] = 0;
}

void to_rows(const float* x, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  turn(x, kBlock, pixels, channels, out, plane);
}
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
