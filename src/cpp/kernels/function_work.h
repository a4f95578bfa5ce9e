// What one element of a function takes, counted as the multiplications and additions of full vectors that
// take as long: the features of kernels whose kinds lie far apart (a Relu waits for its bytes, a Gelu
// computes for as long as 31 multiplications).
//
// Counted from the longest chain of operations of simd_math.h and compared with 4,096 elements in the
// first-level cache on 16 lanes, less their bytes, at 0.01 ns each: Exp 0.14 ns, Sqrt 0.12, Sigmoid 0.25,
// Tanh 0.27, Gelu 0.31.
#pragma once

#include "tensor/kinds.h"

namespace walle::kernels {

double function_flops(UnaryKind kind);
// 0 for none.
double activation_flops(Activation activation);

}  // namespace walle::kernels
