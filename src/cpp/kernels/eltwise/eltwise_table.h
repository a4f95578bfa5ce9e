// What eltwise_simd.cc exports per instruction set. Plain data
// and function pointers: shared by files of different flags.
#pragma once

#include "kernels/activation.h"

namespace walle::kernels {

using UnaryF32 = void (*)(const float* x, float* y, int64_t n, float alpha, float beta);
// Strides are 0 or 1.
using BinaryF32 = void (*)(const float* x, int64_t x_stride, const float* y, int64_t y_stride, float* out,
                           int64_t n);

struct EltwiseTable {
  UnaryF32 activation[tensor::kActivationCount];
  UnaryF32 exp, erf, sqrt, abs, neg, reciprocal;
  UnaryF32 log, softplus, softsign, floor, ceil, round, sign, sin, cos;
  UnaryF32 asin, acos, atan;
  UnaryF32 celu, selu, shrink, thresholded_relu;
  // Null where the set has no instructions for it.
  void (*to_half)(const float* x, uint16_t* y, int64_t n);  // ties to even
  void (*from_half)(const uint16_t* x, float* y, int64_t n);
  // Towards zero. False, and anything in y, where a value is beyond int32 or no number.
  bool (*to_int32)(const float* x, int32_t* y, int64_t n);
  BinaryF32 add, sub, mul, div, min, max, prelu;
};

}  // namespace walle::kernels
