// What a matrix product or convolution does to its result before it is stored.
#pragma once

#include "tensor/kinds.h"

namespace walle::kernels {

// Of Gelu and its approximation by tanh (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
inline constexpr double kSqrtHalf = 0.70710678118654752440;
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;
inline constexpr double kGeluCubic = 0.044715;

// y = f(x + bias + residual). Absent pointers are skipped.
// In this order, because exporters write Conv, then Add of a shortcut, then Relu, and the fusion pass folds
// both into the product. At most one of the two biases is set.
struct Epilogue {
  const float* row_bias = nullptr;  // one per row of the result
  const float* col_bias = nullptr;  // one per column
  const float* residual = nullptr;  // of the result's shape and row stride
  Activation activation = Activation::none;
  float alpha = 0;  // clamp: lower bound; leaky_relu: slope; hard_sigmoid: factor; elu: scale
  float beta = 0;   // clamp: upper bound; hard_sigmoid: offset
};

}  // namespace walle::kernels
