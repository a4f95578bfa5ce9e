// Functions on one vector that only operators of their own, or few networks' activations, need: logarithms,
// e^x - 1, rounding, sine and cosine, their inverses. Only *_simd.cc files include this (see simd.h).
//
// Errors are bounded by tests/python/test_math_ops.py: a few units in the last place over the whole range.
#pragma once

#include "kernels/simd_math.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr float kNotANumber = __builtin_nanf("");
// From here on a float has no digits behind the point.
constexpr float kWhole = 8388608.0f;  // 2^23

// To the nearest whole number, halves to the even one: what is added and taken away again leaves no room for
// digits behind the point. Zeros keep their sign, and so do results of -0.5 and more.
[[maybe_unused]] inline vf round_to_even(vf x) {
  const vf size = abs(x);
  const vf whole = (size + kWhole) - kWhole;
  return size < kWhole ? copy_sign(whole, x) : x;
}
[[maybe_unused]] inline vf floor(vf x) {
  const vf near = round_to_even(x);
  return copy_sign(near > x ? near - 1.0f : near, x);
}
[[maybe_unused]] inline vf ceil(vf x) {
  const vf near = round_to_even(x);
  return copy_sign(near < x ? near + 1.0f : near, x);
}

// x = m * 2^e with m from sqrt(1/2) to sqrt(2), of positive normal numbers.
[[maybe_unused]] inline vf split_exponent(vf x, vf& e) {
  // 0x3f3504f3 is sqrt(1/2): the difference carries into the exponent for mantissas above it.
  const vi shifted = as_int(x) - 0x3f3504f3;
  e = to_float(shifted >> 23);
  return as_float((shifted & 0x007fffff) + 0x3f3504f3);
}

// log(1 + f) for f from sqrt(1/2) - 1 to sqrt(2) - 1, less f: f^2 times a polynomial. Moshier, "Methods and
// Programs for Mathematical Functions" (1989), whose coefficients are the least maximum of the error.
[[maybe_unused]] inline vf log_of_mantissa(vf f) {
  const vf z = f * f;
  const vf p =
      polynomial(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                 1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  return f * z * p - 0.5f * z;
}

// ln 2 in two parts, as in exp: e times the first is exact.
[[maybe_unused]] inline vf log_sum(vf e, vf f, vf rest) {
  return (rest + e * -2.12194440e-4f) + f + e * 0.693359375f;
}

[[maybe_unused]] inline vf log(vf x) {
  // Subnormal numbers are brought up by 2^23.
  const vf small = x < 1.17549435e-38f ? splat(kWhole) : splat(1.0f);
  vf e;
  const vf f = split_exponent(x * small, e) - 1.0f;
  const vf bits = x < 1.17549435e-38f ? splat(23.0f) : splat(0.0f);
  const vf found = log_sum(e - bits, f, log_of_mantissa(f));
  const vf at_edges = x == 0.0f ? splat(-__builtin_inff()) : x < 0.0f ? splat(kNotANumber) : found;
  // Infinity and NaN are their own logarithms.
  return x < __builtin_inff() ? at_edges : x;
}

// log(1 + x) for x from 0 to 1: the part of x that the sum with 1 rounds off comes back as its share of the
// logarithm's slope.
[[maybe_unused]] inline vf log_one_plus(vf x) {
  const vf sum = 1.0f + x;
  const vf lost = quotient(x - (sum - 1.0f), sum);
  vf e;
  const vf f = split_exponent(sum, e) - 1.0f;
  return log_sum(e, f, log_of_mantissa(f) + lost);
}

// e^x - 1 of what is not positive, without exp(x)'s loss of digits near 0. NaN stays.
[[maybe_unused]] inline vf exp_less_one(vf x) {
  const vf bounded = max_keep_nan(splat(-104.0f), x);
  const vf magic = splat(12582912.0f);
  const vf n = (bounded * 1.44269504f + magic) - magic;
  const vf r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  // exp_of_remainder without its first two terms.
  const vf p = polynomial(r, 1.3814539e-3f, 8.368745e-3f, 4.166839e-2f, 1.6666521e-1f, 4.9999994e-1f);
  const vf power = scaled(splat(1.0f), n);
  return power * (r * r * p + r) + (power - 1.0f);
}

[[maybe_unused]] inline vf softplus(vf x) {
  const vf above = x > 0.0f ? x : splat(0.0f);
  return x == x ? above + log_one_plus(exp(as_float(as_int(x) | static_cast<int32_t>(0x80000000)))) : x;
}

// scale * (e^exponent - 1) where x is negative, `other` elsewhere and of NaN. exponent is negative where x
// is.
[[maybe_unused]] inline vf exponential_below(vf x, vf exponent, float scale, vf other) {
  return x < 0.0f ? scale * exp_less_one(x < 0.0f ? exponent : splat(0.0f)) : other;
}
[[maybe_unused]] inline vf elu(vf x, float alpha) { return exponential_below(x, x, alpha, x); }

// x * tanh(softplus(x)) with one exponential: of w = e^2 + 2 e the tangent is w / (w + 2). From 20 on it is 1
// in float, long before w leaves what quotient() takes.
[[maybe_unused]] inline vf mish(vf x) {
  const vf e = exp(min_keep_nan(splat(20.0f), x));
  const vf w = e * (e + 2.0f);
  return x * quotient(w, w + 2.0f);
}

// pi / 2 in parts of 8, 11 and 11 bits and the rest, so that n times the first three is exact up to n = 2^13
// (Cody and Waite). Beyond that the C library reduces.
constexpr float kMostReduced = 8192.0f;
constexpr float kHalfPi[] = {1.5703125f, 4.8351287841796875e-4f, 3.1385570764541626e-7f,
                             6.0771006282767104e-11f};

// sin of x + quarter * pi / 2.
[[maybe_unused]] inline vf sine(vf x, int32_t quarter) {
  const vf n = round_to_even(x * 0.63661977f);
  const vf r = (((x - n * kHalfPi[0]) - n * kHalfPi[1]) - n * kHalfPi[2]) - n * kHalfPi[3];
  const vf z = r * r;
  // Moshier's, as above.
  // Written apart for 0, which keeps its sign.
  const vf s =
      x == 0.0f ? x : r + r * z * polynomial(z, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f);
  const vf c = z * z * polynomial(z, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f) -
               0.5f * z + 1.0f;
  const vi q = to_int_truncated(n) + quarter;
  const vf found = (q & 1) != 0 ? c : s;
  return as_float(as_int(found) ^ ((q & 2) << 30));
}

// NaN and infinity, too.
[[maybe_unused]] inline bool any_beyond(vf x, float limit) { return any(~(abs(x) <= limit)); }

[[maybe_unused]] inline vf sin(vf x) {
  if (__builtin_expect(!any_beyond(x, kMostReduced), 1)) return sine(x, 0);
  vf out;
  for (int i = 0; i < kLanes; ++i) out[i] = __builtin_sinf(x[i]);
  return out;
}
[[maybe_unused]] inline vf cos(vf x) {
  if (__builtin_expect(!any_beyond(x, kMostReduced), 1)) return sine(x, 1);
  vf out;
  for (int i = 0; i < kLanes; ++i) out[i] = __builtin_cosf(x[i]);
  return out;
}

constexpr float kHalfTurn = 1.57079637f;          // pi / 2 rounded up,
constexpr float kHalfTurnRest = -4.37113883e-8f;  // and what that is too much

// Moshier's, as above: of a tangent's inverse beyond tan(pi / 8) by that of (x - 1) / (x + 1), beyond
// tan(3 pi / 8) by that of -1 / x.
[[maybe_unused]] inline vf atan(vf x) {
  const vf size = abs(x);
  const vf below = size > 0.414213562f ? size - 1.0f : size,
           under = size > 0.414213562f ? size + 1.0f : splat(1.0f);
  const vf t = (size > 2.41421356f ? splat(-1.0f) : below) / (size > 2.41421356f ? size : under);
  const vf z = t * t;
  const vf p =
      t * z * polynomial(z, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f) + t;
  const vf turned = size > 0.414213562f ? splat(0.5f * kHalfTurn) : splat(0.0f);
  return copy_sign((size > 2.41421356f ? splat(kHalfTurn) : turned) + p, x);
}

// The arc of a sine from 0 to 1/2, of its square too; likewise.
[[maybe_unused]] inline vf arc(vf x, vf square) {
  const vf p = polynomial(square, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f,
                          1.6666752422e-1f);
  return x * square * p + x;
}
// Beyond 1/2 by the half angle: its sine is the root of (1 - x) / 2. No number beyond 1.
[[maybe_unused]] inline vf asin(vf x) {
  const vf size = abs(x);
  const vf square = size > 0.5f ? 0.5f - 0.5f * size : size * size;
  const vf p = arc(size > 0.5f ? square_root(square) : size, square);
  return copy_sign(size > 0.5f ? (kHalfTurn - 2.0f * p) + kHalfTurnRest : p, x);
}
[[maybe_unused]] inline vf acos(vf x) {
  const vf size = abs(x);
  const vf square = size > 0.5f ? 0.5f - 0.5f * size : size * size;
  const vf p = arc(size > 0.5f ? square_root(square) : size, square);
  const vf within = (kHalfTurn - copy_sign(p, x)) + kHalfTurnRest;
  const vf beyond = x < 0.0f ? (2.0f * kHalfTurn - 2.0f * p) + 2.0f * kHalfTurnRest : 2.0f * p;
  return size > 0.5f ? beyond : within;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
