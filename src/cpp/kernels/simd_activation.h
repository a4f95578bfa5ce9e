// An activation by number, on one vector. Only *_simd.cc files include this (see simd.h).
#pragma once

#include "kernels/activation.h"
#include "kernels/simd_functions.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <Activation A>
[[maybe_unused]] inline vf activate(vf x, float alpha, float beta) {
  if constexpr (A == Activation::clamp) return clamp(x, alpha, beta);
  if constexpr (A == Activation::leaky_relu) return x < 0.0f ? x * alpha : x;
  if constexpr (A == Activation::sigmoid) return sigmoid(x);
  if constexpr (A == Activation::silu) return x * sigmoid(x);
  if constexpr (A == Activation::tanh) return tanh(x);
  if constexpr (A == Activation::hard_sigmoid) return hard_sigmoid(x, alpha, beta);
  if constexpr (A == Activation::hard_swish) return x * hard_sigmoid(x, 1.0f / 6, 0.5f);
  if constexpr (A == Activation::gelu) return gelu(x);
  if constexpr (A == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (A == Activation::mish) return mish(x);
  if constexpr (A == Activation::elu) return elu(x, alpha);
  return x;
}

// Calls fn.template operator()<A>() for the activation a.
template <class Fn>
[[maybe_unused]] inline void with_activation(Activation a, Fn fn) {
  switch (a) {
#define WALLE_ACTIVATION(kind, name) \
  case Activation::kind: return fn.template operator()<Activation::kind>();
#include "tensor/kinds/activation.inc"
  }
}

// The rows x cols block at p, in place.
[[maybe_unused]] inline void activate_block(float* p, int64_t ld, int64_t rows, int64_t cols, Activation a,
                                            float alpha, float beta) {
  with_activation(a, [=]<Activation A>() {
    for (int64_t i = 0; i < rows; ++i) {
      float* row = p + i * ld;
      int64_t j = 0;
      for (; j + kLanes <= cols; j += kLanes) store(row + j, activate<A>(load(row + j), alpha, beta));
      if (j < cols) store_n(row + j, activate<A>(load_n(row + j, cols - j), alpha, beta), cols - j);
    }
  });
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
