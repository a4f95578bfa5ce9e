// Activations in double precision, the definition the vector versions are tested against.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"

namespace walle::kernels {

inline double activation_reference(Activation a, double x, double alpha, double beta) {
  switch (a) {
    case Activation::none: return x;
    // std::min and std::max would drop a NaN, depending on the order of their arguments.
    case Activation::clamp: return std::isnan(x) ? x : std::min(std::max(x, alpha), beta);
    case Activation::leaky_relu: return x < 0 ? x * alpha : x;
    case Activation::sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::tanh: return std::tanh(x);
    case Activation::hard_sigmoid: return std::min(std::max(x * alpha + beta, 0.0), 1.0);
    // ONNX HardSwish: HardSigmoid with alpha 1 / 6 and beta 0.5 (Howard et al., "Searching for MobileNetV3",
    // 2019).
    case Activation::hard_swish: return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case Activation::gelu: return 0.5 * x * (1 + std::erf(x * kSqrtHalf));
    case Activation::mish: return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
    case Activation::elu: return x < 0 ? alpha * std::expm1(x) : x;
    case Activation::gelu_tanh: return 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + kGeluCubic * x * x * x)));
  }
  return x;
}

}  // namespace walle::kernels
