#include "kernels/eltwise/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/unreached.h"
#include "kernels/activation.h"

namespace walle::kernels {

namespace {
using K = UnaryKind;

template <class T, class R, class Fn>
void map(const T* x, R* y, int64_t n, Fn fn) {
  for (int64_t i = 0; i < n; ++i) y[i] = fn(x[i]);
}

// One function per kind of tensor/kinds/unary.inc, under its name: a kind without one does not compile.
// Exponentials less one through expm1, which keeps its digits near 0. Comparisons are written so that NaN
// stays NaN wherever the formula would keep it.
template <class T>
struct Floats {
  static T abs(T v) { return std::fabs(v); }
  static T acos(T v) { return std::acos(v); }
  static T acosh(T v) { return std::acosh(v); }
  static T asin(T v) { return std::asin(v); }
  static T asinh(T v) { return std::asinh(v); }
  static T atan(T v) { return std::atan(v); }
  static T atanh(T v) { return std::atanh(v); }
  static T ceil(T v) { return std::ceil(v); }
  // Two comparisons, so that NaN takes neither and comes out as itself.
  static T celu(T v, T a, T) { return v > 0 ? v : (v <= 0 ? a * std::expm1(v / a) : v); }
  static T clamp(T v, T a, T b) {
    const T low = v < a ? a : v;
    return low > b ? b : low;
  }
  static T cos(T v) { return std::cos(v); }
  static T cosh(T v) { return std::cosh(v); }
  static T elu(T v, T a, T) { return v >= 0 ? v : a * std::expm1(v); }
  static T erf(T v) { return std::erf(v); }
  static T exp(T v) { return std::exp(v); }
  static T floor(T v) { return std::floor(v); }
  static T gelu(T v) { return T(0.5) * v * (T(1) + std::erf(v * T(kSqrtHalf))); }
  static T gelu_tanh(T v) {
    return T(0.5) * v * (T(1) + std::tanh(T(kSqrt2OverPi) * (v + T(kGeluCubic) * v * v * v)));
  }
  static T hard_sigmoid(T v, T a, T b) {
    const T s = a * v + b;
    return s < 0 ? T(0) : (s > 1 ? T(1) : s);
  }
  static T hard_swish(T v) {
    const T s = v / T(6) + T(0.5);
    return v * (s < 0 ? T(0) : (s > 1 ? T(1) : s));
  }
  static T leaky_relu(T v, T a, T) { return v < 0 ? a * v : v; }
  static T log(T v) { return std::log(v); }
  static T mish(T v) { return v * std::tanh(softplus_of(v)); }
  static T neg(T v) { return -v; }
  static T reciprocal(T v) { return T(1) / v; }
  static T relu(T v) { return v < 0 ? T(0) : v; }
  static T round(T v) { return std::nearbyint(v); }  // half to even, the default environment's rule
  static T selu(T v, T a, T b) { return b * (v > 0 ? v : a * std::expm1(v)); }
  // Of NaN, which neither bound excludes, 0: what ONNX writes as "otherwise".
  static T shrink(T v, T a, T b) { return v < -a ? v + b : (v > a ? v - b : T(0)); }
  static T sigmoid(T v) { return T(1) / (T(1) + std::exp(-v)); }
  static T sign(T v) { return v > 0 ? T(1) : (v < 0 ? T(-1) : v); }
  static T sin(T v) { return std::sin(v); }
  static T sinh(T v) { return std::sinh(v); }
  static T softplus(T v) { return v == v ? softplus_of(v) : v; }
  static T softsign(T v) { return v / (T(1) + std::fabs(v)); }
  static T sqrt(T v) { return std::sqrt(v); }
  static T tan(T v) { return std::tan(v); }
  static T tanh(T v) { return std::tanh(v); }
  static T thresholded_relu(T v, T a, T) { return v > a ? v : T(0); }

 private:
  static T softplus_of(T v) {
    // The direct log(1 + exp(v)) is infinite from 89 on in float; this form has exp of what is not positive.
    return std::max(v, T(0)) + std::log1p(std::exp(-std::fabs(v)));  // exp never overflows
  }
};

template <class T>
struct Integers {
  // Through uint64: -INT_MIN wraps to itself instead of being undefined.
  static T neg(T v) { return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(v)); }
  static T abs(T v) { return v < 0 ? neg(v) : v; }
  static T bit_not(T v) { return static_cast<T>(~v); }
  static T ceil(T v) { return v; }
  static T floor(T v) { return v; }
  static T relu(T v) { return v < 0 ? T(0) : v; }
  static T round(T v) { return v; }
  static T sign(T v) { return static_cast<T>((v > 0) - (v < 0)); }
};

// alpha and beta: whether -infinity and +infinity count. Bytes without branches: g++ 12 makes no vectors of
// bools.
template <class T>
struct Tests {
  static uint8_t is_inf(T v, bool negative, bool positive) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return static_cast<uint8_t>(((v == kInfinity) & positive) | ((v == -kInfinity) & negative));
  }
  // By comparison with itself: no file of the build has -ffast-math, which would fold it to false.
  static uint8_t is_nan(T v, bool, bool) { return v != v; }
};

template <class T>
void run_float(K kind, const UnaryParams& p, const T* x, T* y, int64_t n) {
  const T a = static_cast<T>(p.alpha);
  const T b = static_cast<T>(p.beta);
  switch (kind) {
#define WALLE_UNARY_floating(kind) \
  case K::kind: return map(x, y, n, [](T v) { return Floats<T>::kind(v); });
#define WALLE_UNARY_number WALLE_UNARY_floating
#define WALLE_UNARY_WITH(kind, ...) \
  case K::kind: return map(x, y, n, [a, b](T v) { return Floats<T>::kind(v, a, b); });
#define WALLE_UNARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/unary.inc"
  }
}

template <class T>
void run_test(K kind, const UnaryParams& p, const T* x, uint8_t* y, int64_t n) {
  const bool negative = p.alpha != 0;
  const bool positive = p.beta != 0;
  switch (kind) {
#define WALLE_UNARY_test(kind) \
  case K::kind: return map(x, y, n, [=](T v) { return Tests<T>::kind(v, negative, positive); });
#define WALLE_UNARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/unary.inc"
  }
}

template <class T>
void run_integer(K kind, const T* x, T* y, int64_t n) {
  switch (kind) {
#define WALLE_UNARY_number(kind) \
  case K::kind: return map(x, y, n, [](T v) { return Integers<T>::kind(v); });
#define WALLE_UNARY_bits WALLE_UNARY_number
#define WALLE_UNARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/unary.inc"
  }
}

}  // namespace

void run_unary(UnaryKind kind, DType dtype, const UnaryParams& params, const void* x, void* y, int64_t n) {
  if (tensor::unary_class(kind) == tensor::UnaryClass::logic)
    // As bytes: g++ 12 makes no vectors of bools.
    return map(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), n,
               [](uint8_t v) { return static_cast<uint8_t>(v == 0); });
  const bool test = tensor::unary_class(kind) == tensor::UnaryClass::test;
  const bool floating = tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (test)
      run_test(kind, params, static_cast<const T*>(x), static_cast<uint8_t*>(y), n);
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
