// What a matrix product or convolution does to its result before it is stored.
#pragma once

#include "tensor/kinds.h"

namespace walle::kernels {

// y = f(x + bias + residual). Absent pointers are skipped.
struct Epilogue {
  const float* row_bias = nullptr;  // one per row of the result
  const float* col_bias = nullptr;  // one per column
  const float* residual = nullptr;  // of the result's shape and row stride
  Activation activation = Activation::none;
  float alpha = 0;  // clamp: lower bound; leaky_relu: slope; hard_sigmoid: factor
  float beta = 0;   // clamp: upper bound; hard_sigmoid: offset
};

}  // namespace walle::kernels
