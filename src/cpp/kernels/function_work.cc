#include "kernels/function_work.h"

#include "base/unreached.h"

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
constexpr double kLogarithm = 20;
constexpr double kSoftplus = 45;  // an exponential, a quotient and a logarithm
constexpr double kMish = 26;
constexpr double kExponentialLessOne = 20;
constexpr double kSine = 27;
constexpr double kArc = 28;  // a root or a quotient, and a polynomial
constexpr double kRounding = 4;
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
    case UnaryKind::log: return kLogarithm;
    case UnaryKind::softplus: return kSoftplus;
    case UnaryKind::mish: return kMish;
    case UnaryKind::celu:
    case UnaryKind::elu:
    case UnaryKind::selu: return kExponentialLessOne;
    case UnaryKind::sin:
    case UnaryKind::cos: return kSine;
    case UnaryKind::acos:
    case UnaryKind::asin:
    case UnaryKind::atan: return kArc;
    case UnaryKind::softsign: return kQuotient;
    case UnaryKind::ceil:
    case UnaryKind::floor:
    case UnaryKind::round: return kRounding;
    case UnaryKind::abs:
    case UnaryKind::bit_not:
    case UnaryKind::clamp:
    case UnaryKind::hard_sigmoid:
    case UnaryKind::hard_swish:
    case UnaryKind::is_inf:
    case UnaryKind::is_nan:
    case UnaryKind::leaky_relu:
    case UnaryKind::logical_not:
    case UnaryKind::neg:
    case UnaryKind::relu:
    case UnaryKind::shrink:
    case UnaryKind::sign:
    case UnaryKind::thresholded_relu: return kArithmetic;
    // The C library's, one by one, which nobody has measured.
    case UnaryKind::acosh:
    case UnaryKind::asinh:
    case UnaryKind::atanh:
    case UnaryKind::cosh:
    case UnaryKind::sinh:
    case UnaryKind::tan: return kArithmetic;
  }
  return base::unreached(kArithmetic);
}

double activation_flops(Activation activation) {
  switch (activation) {
    case Activation::none: return 0;
    case Activation::sigmoid:
    case Activation::silu: return kSigmoid;
    case Activation::tanh: return kTanh;
    case Activation::gelu:
    case Activation::gelu_tanh: return kGelu;
    case Activation::mish: return kMish;
    case Activation::elu: return kExponentialLessOne;
    case Activation::clamp:
    case Activation::leaky_relu:
    case Activation::hard_sigmoid:
    case Activation::hard_swish: return kArithmetic;
  }
  return base::unreached(kArithmetic);
}

}  // namespace walle::kernels
