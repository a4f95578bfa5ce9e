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

// ((first * z + next) * z + ...) + last: Horner's rule, coefficients from the highest power down. One
// function for all of them, so that each is a list of numbers. The number of coefficients is a constant of
// the call and the fold leaves no loop behind, so the compiler has nothing to unroll.
template <class... Rest>
inline vf polynomial(vf z, float first, Rest... rest) {
  vf p = splat(first);
  ((p = p * z + rest), ...);
  return p;
}

// e^r of |r| <= ln 2 / 2. Least maximum of the relative error, 3.1e-9, with the first two coefficients kept
// so that exp(0) is 1: one term less than Taylor's series, which is off by 7.1e-9.
[[maybe_unused]] inline vf exp_of_remainder(vf r) {
  return polynomial(r, 1.3814539e-3f, 8.368745e-3f, 4.166839e-2f, 1.6666521e-1f, 4.9999994e-1f, 1.0f, 1.0f);
}

// The bounds lie just beyond the logarithms of the smallest and of the largest
// float (-103.3 and 88.7). ln 2 is split in two so that n times its first part is
// exact (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
[[maybe_unused]] inline vf exp(vf x) {
  const vf bounded = clamp(x, -104.0f, 89.0f);
  const vf magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  // 1 / ln 2.
  const vf shifted = bounded * 1.44269504f + magic;
  const vf n = shifted - magic;
  // ln 2 = 0.693359375 - 2.12194440e-4: the first part has nine bits, so that n times it is exact.
  const vf r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  return scaled(exp_of_remainder(r), n);
}

// exp of what is not above 0, and 0 where the result would be subnormal: one factor 2^n and one bound do.
[[maybe_unused]] inline vf exp_below_zero(vf x) {
  constexpr float kLowest = -87.0f;  // the logarithm of the smallest normal number is -87.34
  const vf bounded = max_keep_nan(splat(kLowest), x);
  const vf magic = splat(12582912.0f);
  const vf shifted = bounded * 1.44269504f + magic;
  const vf n = shifted - magic;
  const vf r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  // The low bits of `shifted` are n; a product and not an addition to the exponent, because NaN stays NaN.
  const vf e = exp_of_remainder(r) * as_float((as_int(shifted) << 23) + 0x3f800000);
  // Not `x < kLowest ? 0 : e`, for which NaN is not less either, but whose blend costs more.
  return as_float(as_int(e) & ~(x < kLowest));
}

[[maybe_unused]] inline vf tanh(vf x) {
  // From 9.01 on tanh is 1 in float: 1 - tanh(9) = 3e-8, half the distance of 1 to the number below it.
  const vf v = clamp(x, -9.0f, 9.0f);
  const vf z = v * v;
  const vf p = polynomial(z, -2.03289978e-14f, 9.05998804e-11f, 1.62532352e-07f, 4.95400849e-05f,
                          4.68579072e-03f, 1.42897812e-01f, 1.0f);
  const vf q = polynomial(z, 5.26926241e-09f, 3.33623843e-06f, 5.52365483e-04f, 3.00961726e-02f,
                          4.76231146e-01f, 1.0f);
  return abs(x) >= 9.0f
             ? copy_sign(splat(1.0f), x)
             : clamp(quotient(v * p, q), -1.0f, 1.0f);  // exactly 1, or x * (1 - tanh) would not vanish
}

// From 4 on 1 - erf is below 2e-8, which a float next to 1 does not show.
[[maybe_unused]] inline vf erf(vf x) {
  const vf v = clamp(x, -4.0f, 4.0f);
  const vf z = v * v;
  const vf p = polynomial(z, 1.98680584e-06f, 2.84560853e-04f, 3.88315486e-03f, 5.31011642e-02f,
                          1.93540767e-01f, 1.12837914f);
  const vf q = polynomial(z, 3.74201522e-05f, 1.18552369e-03f, 1.52068748e-02f, 1.15348211e-01f,
                          5.04853596e-01f, 1.0f);
  return abs(x) >= 4.0f ? copy_sign(splat(1.0f), x) : clamp(quotient(v * p, q), -1.0f, 1.0f);
}

// Of -|x|, so that the sum lies between 1 and 2 and small results keep their digits.
[[maybe_unused]] inline vf sigmoid(vf x) {
  const vf below = as_float(as_int(x) | static_cast<int32_t>(0x80000000));
  const vf e = kScalesInOne ? exp(below) : exp_below_zero(below);
  // By the sign's bit: a choice without a comparison. Of -0 both are 1.
  return quotient(as_int(x) < 0 ? e : splat(1.0f), 1.0f + e);
}
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
