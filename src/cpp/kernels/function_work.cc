#include "kernels/function_work.h"

namespace walle::kernels {

namespace {
constexpr double kArithmetic = 1;  // compared, chosen or multiplied: one or two operations
constexpr double kSquareRoot = 12;
constexpr double kQuotient = 5;
constexpr double kExponential = 14;
constexpr double kSigmoid = 25;  // an exponential and a quotient
constexpr double kTanh = 27;
constexpr double kErf = 25;
constexpr double kGelu = 31;
}  // namespace

double function_flops(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::sqrt: return kSquareRoot;
    case UnaryKind::reciprocal: return kQuotient;
    case UnaryKind::exp: return kExponential;
    case UnaryKind::sigmoid: return kSigmoid;
    case UnaryKind::tanh: return kTanh;
    case UnaryKind::erf: return kErf;
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh: return kGelu;
    default: return kArithmetic;
  }
}

double activation_flops(Activation activation) {
  switch (activation) {
    case Activation::none: return 0;
    case Activation::sigmoid:
    case Activation::silu: return kSigmoid;
    case Activation::tanh: return kTanh;
    case Activation::gelu:
    case Activation::gelu_tanh: return kGelu;
    default: return kArithmetic;
  }
}

}  // namespace walle::kernels
