// arm64, two registers as one vector of eight floats: for arithmetic in float16, whose registers hold eight
// numbers. What is not spelled here the compiler makes of halves.
#pragma once

#include <arm_neon.h>

#define WALLE_LANES 8
#include "kernels/simd/copied_lanes.h"
#include "kernels/simd/plain.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kRegisters = 32;

[[maybe_unused]] inline vf splat(float x) { return vf{x, x, x, x, x, x, x, x}; }

[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) { return limit > x ? limit : x; }
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) { return limit < x ? limit : x; }
[[maybe_unused]] inline vf square_root(vf x) {
  vf root;
  for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(x[i]);
  return root;
}
[[maybe_unused]] inline bool any(vi mask) {
  int32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= mask[i];
  return all != 0;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
