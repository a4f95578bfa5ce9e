// From vectors of sums to codes, in every form. Compiled without contraction to fused multiply-adds
// (cmake/isa.cmake): a product that is rounded on one machine and not on another would give other codes.
#pragma once

#include "kernels/codes/codes_lanes_simd.h"
#include "kernels/conv_int8/conv_int8_table.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int64_t kPixelCodes = 16;  // from pixel to pixel, of the result and of what is added

// Sums of one vector of channels of `pixels`, `step` apart, to codes.
inline void to_codes(const CodesEnd& e, const int32_t* sums, int64_t step, int64_t pixels, int64_t channel,
                     uint8_t* y) {
  const vf factor = load(e.factor + channel);
  const auto number = [&](int64_t i) { return to_float(load_ints(sums + i * step)) * factor; };
  int64_t i = 0;
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
  const RoundingOfFour four(e.low, e.high, e.zero);
  // The last four overlap with those before: twice the same codes.
  for (; i < pixels && pixels >= 4; i += 4) {
    if (i > pixels - 4) i = pixels - 4;
    four(y + i * kPixelCodes, number(i), number(i + 1), number(i + 2), number(i + 3));
  }
#endif
  const Rounding round(e.low, e.high, e.zero);
  for (; i < pixels; ++i) store_codes(y + i * kPixelCodes, round(number(i)));
}

// The same, with codes that are added before they are rounded again.
template <bool Signed>
void to_joint_codes(const CodesEnd& e, const int32_t* sums, int64_t step, int64_t pixels, int64_t channel,
                    uint8_t* y, const uint8_t* residual) {
  const vf factor = load(e.factor + channel);
  const Rounding round(e.low, e.high, 0), joint(e.joint_low, e.joint_high, e.joint_zero);
  const vf zero = splat(e.residual_zero), own = splat(e.own), by = splat(e.other);
  const auto number = [&](int64_t i) {
    const vf other = to_float(load_codes<Signed>(residual + i * kPixelCodes)) - zero;
    const vf code = to_float(round(to_float(load_ints(sums + i * step)) * factor));
    return code * own + other * by;
  };
  int64_t i = 0;
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
  const RoundingOfFour four(e.joint_low, e.joint_high, e.joint_zero);
  // No overlap: what is added may lie where the result does.
  for (; i + 4 <= pixels; i += 4)
    four(y + i * kPixelCodes, number(i), number(i + 1), number(i + 2), number(i + 3));
#endif
  for (; i < pixels; ++i) store_codes(y + i * kPixelCodes, joint(number(i)));
}

// Whichever `e` asks for; `at`: where y and the residual are.
inline void end_codes(const CodesEnd& e, const int32_t* sums, int64_t step, int64_t pixels, int64_t channel,
                      uint8_t* y, int64_t at) {
  if (!e.residual) return to_codes(e, sums, step, pixels, channel, y + at);
  const uint8_t* const r = e.residual + at;
  if (e.residual_signed) return to_joint_codes<true>(e, sums, step, pixels, channel, y + at, r);
  to_joint_codes<false>(e, sums, step, pixels, channel, y + at, r);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
