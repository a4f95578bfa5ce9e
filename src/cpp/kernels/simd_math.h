// Vector exp, tanh, erf and the activations made of them. Only *_simd.cc files include this (see simd.h).
//
// exp: range reduction by ln 2 and a Taylor polynomial of degree 7 (relative error below 2e-7). tanh and erf:
// x P(x^2) / Q(x^2), coefficients fitted for this project by iteratively reweighted least squares on
// Chebyshev points; relative error in float below 5e-7 on the whole line. NaN goes through everywhere.
#pragma once

#include "kernels/activation.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline vf clamp(vf x, float low, float high) {
  return min_keep_nan(splat(high), max_keep_nan(splat(low), x));
}

// The bounds lie just beyond the logarithms of the smallest and of the largest
// float (-103.3 and 88.7). ln 2 is split in two so that n times its first part is
// exact (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
[[maybe_unused]] inline vf exp(vf x) {
  const vf bounded = clamp(x, -104.0f, 89.0f);
  const vf magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  const vf shifted = bounded * 1.44269504f + magic;
  const vf n = shifted - magic;
  const vf r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  vf p = splat(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // Two factors, because 2^n alone leaves the range of a
  // float where the result is still a (subnormal) number.
  const vi exponent = as_int(shifted) - as_int(magic);
  const vi half = exponent >> 1;
  return p * as_float((half + 127) << 23) * as_float((exponent - half + 127) << 23);
}

[[maybe_unused]] inline vf tanh(vf x) {
  const vf v = clamp(x, -9.0f, 9.0f);
  const vf z = v * v;
  vf p = splat(-2.03289978e-14f);
  p = p * z + 9.05998804e-11f;
  p = p * z + 1.62532352e-07f;
  p = p * z + 4.95400849e-05f;
  p = p * z + 4.68579072e-03f;
  p = p * z + 1.42897812e-01f;
  p = p * z + 1.0f;
  vf q = splat(5.26926241e-09f);
  q = q * z + 3.33623843e-06f;
  q = q * z + 5.52365483e-04f;
  q = q * z + 3.00961726e-02f;
  q = q * z + 4.76231146e-01f;
  q = q * z + 1.0f;
  // Exactly 1 from 9 on, where 1 - tanh is 3e-8: or x * (1 - tanh) would not vanish.
  return abs(x) >= 9.0f ? copy_sign(splat(1.0f), x) : clamp(v * p / q, -1.0f, 1.0f);
}

// From 4 on 1 - erf is below 2e-8, which a float next to 1 does not show.
[[maybe_unused]] inline vf erf(vf x) {
  const vf v = clamp(x, -4.0f, 4.0f);
  const vf z = v * v;
  vf p = splat(1.98680584e-06f);
  p = p * z + 2.84560853e-04f;
  p = p * z + 3.88315486e-03f;
  p = p * z + 5.31011642e-02f;
  p = p * z + 1.93540767e-01f;
  p = p * z + 1.12837914f;
  vf q = splat(3.74201522e-05f);
  q = q * z + 1.18552369e-03f;
  q = q * z + 1.52068748e-02f;
  q = q * z + 1.15348211e-01f;
  q = q * z + 5.04853596e-01f;
  q = q * z + 1.0f;
  return abs(x) >= 4.0f ? copy_sign(splat(1.0f), x) : clamp(v * p / q, -1.0f, 1.0f);
}

[[maybe_unused]] inline vf sigmoid(vf x) { return 1.0f / (1.0f + exp(-x)); }
[[maybe_unused]] inline vf hard_sigmoid(vf x, float alpha, float beta) {
  return clamp(x * alpha + beta, 0.0f, 1.0f);
}
[[maybe_unused]] inline vf gelu(vf x) { return 0.5f * x * (1.0f + erf(x * static_cast<float>(kSqrtHalf))); }
[[maybe_unused]] inline vf gelu_tanh(vf x) {
  const vf inner = x + static_cast<float>(kGeluCubic) * x * x * x;
  return 0.5f * x * (1.0f + tanh(static_cast<float>(kSqrt2OverPi) * inner));
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
