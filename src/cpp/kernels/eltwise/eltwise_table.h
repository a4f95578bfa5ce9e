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
  UnaryF32 celu, selu, shrink, thresholded_relu;
  BinaryF32 add, sub, mul, div, min, max, prelu;
};

}  // namespace walle::kernels
