// Words of two bfloat16 in no instruction set: what vdpbf16ps and vcvtne2ps2bf16 do, lane by lane, so that
// packing, tails, offsets and sums are tested where no processor has them. WALLE_ISA_NS is set.
#pragma once

#include <cmath>

#include "kernels/simd/bfloat_of.h"
#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Subnormal numbers are zeros, before and after.
inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float wide(uint32_t bits) { return flushed(__builtin_bit_cast(float, bits)); }

// The second element's product comes first.
inline float with_products(float acc, uint32_t a, uint32_t b) {
  acc = flushed(std::fma(wide(a & 0xffff0000u), wide(b & 0xffff0000u), flushed(acc)));
  return flushed(std::fma(wide(a << 16), wide(b << 16), acc));
}

[[maybe_unused]] inline vf products(vf acc, vu a, vu b) {
  for (int lane = 0; lane < kLanes; ++lane) acc[lane] = with_products(acc[lane], a[lane], b[lane]);
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

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
