// Element-wise functions of one operand: the reference kernels, one dense run at a time.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace walle::kernels {

enum class UnaryKind : uint8_t {
  abs,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  bit_not,
  ceil,
  celu,
  clamp,
  cos,
  cosh,
  elu,
  erf,
  exp,
  floor,
  gelu,
  gelu_tanh,
  hard_sigmoid,
  hard_swish,
  is_inf,
  is_nan,
  leaky_relu,
  log,
  logical_not,
  mish,
  neg,
  reciprocal,
  relu,
  round,
  selu,
  shrink,
  sigmoid,
  sign,
  sin,
  sinh,
  softplus,
  softsign,
  sqrt,
  tan,
  tanh,
  thresholded_relu,
};

// What the ONNX attributes of the kinds come down to; see unary.cc for which kind reads which.
struct UnaryParams {
  double alpha = 0;
  double beta = 0;
};

// The kind of an operator name ("Relu"); gelu_tanh has no name of its own.
std::optional<UnaryKind> unary_kind(std::string_view op);

bool unary_supports(UnaryKind kind, DType dtype);

// y[0, n) = kind(x[0, n)). y is boolean for is_nan and is_inf, else of `dtype`; may be x itself when the
// sizes agree. Precondition: unary_supports().
void run_unary(UnaryKind kind, DType dtype, const UnaryParams& params, const void* x, void* y, int64_t n);

}  // namespace walle::kernels
