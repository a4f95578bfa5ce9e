// Words of two bfloat16 in no instruction set: what vdpbf16ps and vcvtne2ps2bf16 do, lane by lane, so that
// packing, tails, offsets and sums are tested where no processor has them; and bfmmla where
// WALLE_EMULATED_BFMMLA is defined. WALLE_ISA_NS is set.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/simd/bfloat_image.h"
#include "kernels/simd/bfloat_of.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Subnormal numbers are zeros, before and after.
inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float wide(uint32_t bits) { return flushed(__builtin_bit_cast(float, bits)); }

// a * b + c rounded once, a and b of bfloat16: their product is a float unless it is too small or too large
// for one, and most of the time std::fma is a call.
inline float fused(float a, float b, float c) {
  const float product = a * b, size = std::abs(product);
  const bool exact = size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max();
  return exact ? product + c : std::fma(a, b, c);
}

#if defined(WALLE_EMULATED_BFMMLA)
// A sum rounded to odd: cut off, with the last bit set if anything was. Sums of floats are exact as two
// doubles.
inline float odd_sum(float a, float b) {
  const double sum = static_cast<double>(a) + b, of_b = sum - a, rest = (a - (sum - of_b)) + (b - of_b);
  float near = static_cast<float>(sum);
  if (!std::isfinite(near) || (near == sum && rest == 0)) return flushed(near);
  const bool away = ((near - sum) - rest > 0) == (near > 0);
  if (away) near = std::nextafter(near, 0.0f);
  return flushed(__builtin_bit_cast(float, __builtin_bit_cast(uint32_t, near) | 1u));
}

// Products of bfloat16 are exact; their sum comes first.
inline float with_products(float acc, uint32_t a, uint32_t b) {
  const float low = flushed(wide(a << 16) * wide(b << 16));
  const float high = flushed(wide(a & 0xffff0000u) * wide(b & 0xffff0000u));
  return odd_sum(flushed(acc), odd_sum(low, high));
}
#else
// The second element's product comes first.
inline float with_products(float acc, uint32_t a, uint32_t b) {
  acc = flushed(fused(wide(a & 0xffff0000u), wide(b & 0xffff0000u), flushed(acc)));
  return flushed(fused(wide(a << 16), wide(b << 16), acc));
}
#endif

[[maybe_unused]] inline vf products(vf acc, vu a, vu b) {
  for (int lane = 0; lane < kLanes; ++lane) acc[lane] = with_products(acc[lane], a[lane], b[lane]);
  return acc;
}

#if defined(WALLE_EMULATED_BFMMLA)
constexpr bool kPairsOfRows = true;
#else
constexpr bool kPairsOfRows = false;
#endif

[[maybe_unused]] inline vu two_of_each(const uint32_t* p, const uint32_t* q) {
  return vu{p[0], p[1], q[0], q[1]};
}
[[maybe_unused]] inline vf squares(vf acc, vu a, vu b) {
  for (int lane = 0; lane < 4; ++lane)
    for (int word = 0; word < 2; ++word)
      acc[lane] = with_products(acc[lane], a[lane / 2 * 2 + word], b[lane % 2 * 2 + word]);
  return acc;
}

[[maybe_unused]] inline vu in_order(vf low, vf high) {
  vu out{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const vf& from = 2 * lane < kLanes ? low : high;
    out[lane] = pair_of(from[2 * lane % kLanes], from[2 * lane % kLanes + 1]);
  }
  return out;
}

[[maybe_unused]] inline vu in_pairs(vf even, vf odd) {
  vu out{};
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = pair_of(even[lane], odd[lane]);
  return out;
}

[[maybe_unused]] inline vu in_panel(vf even, vf odd) { return in_pairs(even, odd); }

[[maybe_unused]] inline vb narrowed(vf x) {
  vb out{};
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<uint16_t>(bfloat_of(x[lane]));
  return out;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
