// What norm_simd.cc exports per instruction set.
#pragma once

#include <cstdint>

namespace walle::kernels {

struct NormTable {
  // y = (x - mean) / sqrt(variance + epsilon) * scale + bias for each
  // dense row of n; scale and bias have n elements or are nullptr.
  void (*layer_norm)(const float* x, const float* scale, const float* bias, float* y, int64_t rows, int64_t n,
                     float epsilon);
  // The same without a mean: y = x / sqrt(mean of squares + epsilon) * scale + bias (Zhang and Sennrich,
  // 2019).
  void (*rms_norm)(const float* x, const float* scale, const float* bias, float* y, int64_t rows, int64_t n,
                   float epsilon);
};

}  // namespace walle::kernels
