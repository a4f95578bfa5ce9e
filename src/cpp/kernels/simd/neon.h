// arm64, whose baseline has NEON.
#pragma once

#include <arm_neon.h>

#include "kernels/simd/four_lanes.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kRegisters = 32;

[[maybe_unused]] inline vf load_n(const float* p, int64_t n) {
  if (n >= kLanes) return load(p);
  const float32x2_t none = vdup_n_f32(0);
  float32x2_t low = none, high = none;
  if (n >= 2) {
    low = vld1_f32(p);
    if (n == 3) high = vld1_lane_f32(p + 2, none, 0);
  } else if (n == 1) {
    low = vld1_lane_f32(p, none, 0);
  }
  return reinterpret_cast<vf>(vcombine_f32(low, high));
}
[[maybe_unused]] inline void store_n(float* p, vf x, int64_t n) {
  if (n >= kLanes) return store(p, x);
  const auto lanes = reinterpret_cast<float32x4_t>(x);
  if (n >= 2) {
    vst1_f32(p, vget_low_f32(lanes));
    if (n == 3) vst1q_lane_f32(p + 2, lanes, 2);
  } else if (n == 1) {
    vst1q_lane_f32(p, lanes, 0);
  }
}

// A comparison and a selection: fmax keeps a NaN of the limit as well, fmaxnm none at all, and what is wanted
// is x's alone (what rounds to codes has x as the limit, to lose it).
[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) { return limit > x ? limit : x; }
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) { return limit < x ? limit : x; }
[[maybe_unused]] inline vf square_root(vf x) {
  return reinterpret_cast<vf>(vsqrtq_f32(reinterpret_cast<float32x4_t>(x)));
}
[[maybe_unused]] inline bool any(vi mask) { return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0; }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
