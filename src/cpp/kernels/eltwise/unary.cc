#include "kernels/eltwise/unary.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"

namespace walle::kernels {

namespace {
using K = UnaryKind;

template <class T, class R, class Fn>
void map(const T* x, R* y, int64_t n, Fn fn) {
  for (int64_t i = 0; i < n; ++i) y[i] = fn(x[i]);
}

template <class T>
T softplus(T v) {
  // The direct log(1 + exp(v)) is infinite from 89 on in float; this form has exp of what is not positive.
  return std::max(v, T(0)) + std::log1p(std::exp(-std::fabs(v)));  // exp never overflows
}

template <class T>
void run_trigonometric(K kind, const T* x, T* y, int64_t n) {
  switch (kind) {
    case K::acos: return map(x, y, n, [](T v) { return std::acos(v); });
    case K::acosh: return map(x, y, n, [](T v) { return std::acosh(v); });
    case K::asin: return map(x, y, n, [](T v) { return std::asin(v); });
    case K::asinh: return map(x, y, n, [](T v) { return std::asinh(v); });
    case K::atan: return map(x, y, n, [](T v) { return std::atan(v); });
    case K::atanh: return map(x, y, n, [](T v) { return std::atanh(v); });
    case K::cos: return map(x, y, n, [](T v) { return std::cos(v); });
    case K::cosh: return map(x, y, n, [](T v) { return std::cosh(v); });
    case K::sin: return map(x, y, n, [](T v) { return std::sin(v); });
    case K::sinh: return map(x, y, n, [](T v) { return std::sinh(v); });
    case K::tan: return map(x, y, n, [](T v) { return std::tan(v); });
    default: return map(x, y, n, [](T v) { return std::tanh(v); });
  }
}

// Exponentials less one through expm1, which keeps its digits near 0. Comparisons are written so that NaN
// stays NaN wherever the formula would keep it.
template <class T>
void run_activation(K kind, const UnaryParams& p, const T* x, T* y, int64_t n) {
  const T a = static_cast<T>(p.alpha);
  const T b = static_cast<T>(p.beta);
  switch (kind) {
    // Two comparisons, so that NaN takes neither and comes out as itself.
    case K::celu: return map(x, y, n, [a](T v) { return v > 0 ? v : (v <= 0 ? a * std::expm1(v / a) : v); });
    case K::clamp:
      return map(x, y, n, [a, b](T v) {
        const T low = v < a ? a : v;
        return low > b ? b : low;
      });
    case K::elu: return map(x, y, n, [a](T v) { return v >= 0 ? v : a * std::expm1(v); });
    case K::gelu: return map(x, y, n, [](T v) { return T(0.5) * v * (T(1) + std::erf(v * T(kSqrtHalf))); });
    case K::gelu_tanh:
      return map(x, y, n, [](T v) {
        return T(0.5) * v * (T(1) + std::tanh(T(kSqrt2OverPi) * (v + T(kGeluCubic) * v * v * v)));
      });
    case K::hard_sigmoid:
      return map(x, y, n, [a, b](T v) {
        const T s = a * v + b;
        return s < 0 ? T(0) : (s > 1 ? T(1) : s);
      });
    case K::hard_swish:
      return map(x, y, n, [](T v) {
        const T s = v / T(6) + T(0.5);
        return v * (s < 0 ? T(0) : (s > 1 ? T(1) : s));
      });
    case K::leaky_relu: return map(x, y, n, [a](T v) { return v < 0 ? a * v : v; });
    case K::mish: return map(x, y, n, [](T v) { return v * std::tanh(softplus(v)); });
    case K::selu: return map(x, y, n, [a, b](T v) { return b * (v > 0 ? v : a * std::expm1(v)); });
    case K::shrink:
      return map(x, y, n, [a, b](T v) { return v < -a ? v + b : (v > a ? v - b : (v == v ? T(0) : v)); });
    case K::sigmoid: return map(x, y, n, [](T v) { return T(1) / (T(1) + std::exp(-v)); });
    case K::softplus: return map(x, y, n, [](T v) { return v == v ? softplus(v) : v; });
    case K::softsign: return map(x, y, n, [](T v) { return v / (T(1) + std::fabs(v)); });
    default: return map(x, y, n, [a](T v) { return v > a ? v : (v == v ? T(0) : v); });  // thresholded_relu
  }
}

template <class T>
void run_float(K kind, const UnaryParams& p, const T* x, T* y, int64_t n) {
  switch (kind) {
    case K::abs: return map(x, y, n, [](T v) { return std::fabs(v); });
    case K::ceil: return map(x, y, n, [](T v) { return std::ceil(v); });
    case K::erf: return map(x, y, n, [](T v) { return std::erf(v); });
    case K::exp: return map(x, y, n, [](T v) { return std::exp(v); });
    case K::floor: return map(x, y, n, [](T v) { return std::floor(v); });
    case K::log: return map(x, y, n, [](T v) { return std::log(v); });
    case K::neg: return map(x, y, n, [](T v) { return -v; });
    case K::reciprocal: return map(x, y, n, [](T v) { return T(1) / v; });
    case K::relu: return map(x, y, n, [](T v) { return v < 0 ? T(0) : v; });
    // Half to even, the default environment's rule.
    case K::round: return map(x, y, n, [](T v) { return std::nearbyint(v); });
    case K::sign: return map(x, y, n, [](T v) { return v > 0 ? T(1) : (v < 0 ? T(-1) : v); });
    case K::sqrt: return map(x, y, n, [](T v) { return std::sqrt(v); });
    case K::acos:
    case K::acosh:
    case K::asin:
    case K::asinh:
    case K::atan:
    case K::atanh:
    case K::cos:
    case K::cosh:
    case K::sin:
    case K::sinh:
    case K::tan:
    case K::tanh: return run_trigonometric(kind, x, y, n);
    default: return run_activation(kind, p, x, y, n);
  }
}

// alpha and beta: whether -infinity and +infinity count.
template <class T>
void run_test(K kind, const UnaryParams& p, const T* x, bool* y, int64_t n) {
  // By comparison with itself: no file of the build has -ffast-math, which would fold it to false.
  if (kind == K::is_nan) return map(x, y, n, [](T v) { return v != v; });
  const bool negative = p.alpha != 0;
  const bool positive = p.beta != 0;
  map(x, y, n, [=](T v) { return std::isinf(v) && (v > 0 ? positive : negative); });
}

// Through uint64: -INT_MIN wraps to itself instead of being undefined.
template <class T>
void run_integer(K kind, const T* x, T* y, int64_t n) {
  const auto negated = [](T v) { return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(v)); };
  switch (kind) {
    case K::abs: return map(x, y, n, [&](T v) { return v < 0 ? negated(v) : v; });
    case K::bit_not: return map(x, y, n, [](T v) { return static_cast<T>(~v); });
    case K::neg: return map(x, y, n, negated);
    case K::relu: return map(x, y, n, [](T v) { return v < 0 ? T(0) : v; });
    case K::sign: return map(x, y, n, [](T v) { return static_cast<T>((v > 0) - (v < 0)); });
    default: return map(x, y, n, [](T v) { return v; });  // rounding an integer
  }
}

}  // namespace

void run_unary(UnaryKind kind, DType dtype, const UnaryParams& params, const void* x, void* y, int64_t n) {
  if (kind == K::logical_not)
    // As bytes: g++ 12 makes no vectors of bools.
    return map(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), n,
               [](uint8_t v) { return static_cast<uint8_t>(v == 0); });
  const bool test = kind == K::is_nan || kind == K::is_inf;
  const bool floating = tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (test)
      run_test(kind, params, static_cast<const T*>(x), static_cast<bool*>(y), n);
    else
      run_float(kind, params, static_cast<const T*>(x), static_cast<T*>(y), n);
  });
  if (floating) return;
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_integer(kind, static_cast<const T*>(x), static_cast<T*>(y), n);
  });
}

}  // namespace walle::kernels
