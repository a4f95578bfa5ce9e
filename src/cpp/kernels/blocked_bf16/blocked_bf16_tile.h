// Kernels over bfloat16 images, for a file that has defined the words of simd/bfloat.h.
#pragma once

#include "kernels/blocked/blocked_depthwise_simd.h"
#include "kernels/blocked/blocked_pool_simd.h"
#include "kernels/blocked_bf16/blocked_bf16_table.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

void widen(const uint16_t* from, int64_t from_step, int64_t count, float* to, int64_t to_step) {
  for (int64_t i = 0; i < count; ++i) store(to + i * to_step, load(from + i * from_step));
}

void narrow(const float* from, int64_t from_step, int64_t count, uint16_t* to, int64_t to_step) {
  for (int64_t i = 0; i < count; ++i) store(to + i * to_step, narrowed(load(from + i * from_step)));
}

// Fewer forms than of float32, 12 KB of them: maps of less than seven columns go pixel by pixel, and windows
// of 7 stand between normalisations, which no image in bfloat16 comes from.
template <int K, int S, class Task>
void depthwise_bf16_window(const Task& d) {
  if (d.ow >= kWide && (d.ow % kWide == 0 || d.ow > 2 * kWide)) return depthwise_rows<K, S, kWide>(d);
  d.ow >= 7 ? depthwise_rows<K, S, 7>(d) : depthwise_rows<K, S, 1>(d);
}

void depthwise_bf16(int64_t window, int64_t stride, const BlockedDepthwiseOf<uint16_t>& d) {
  if (window == 3) return stride == 1 ? depthwise_bf16_window<3, 1>(d) : depthwise_bf16_window<3, 2>(d);
  return stride == 1 ? depthwise_bf16_window<5, 1>(d) : depthwise_bf16_window<5, 2>(d);
}

}  // namespace

}  // namespace walle::kernels::WALLE_ISA_NS
