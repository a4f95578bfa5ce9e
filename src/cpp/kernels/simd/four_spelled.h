// The words of four_lanes.h that x86 has instructions for, spelled in the compiler's vector extensions.
#pragma once

#include "kernels/simd/four_lanes.h"

// Behind the lanes that it copies.
#include "kernels/simd/copied_lanes.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) { return limit > x ? limit : x; }
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) { return limit < x ? limit : x; }
[[maybe_unused]] inline vf square_root(vf x) {
  vf root;
  for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(x[i]);
  return root;
}
[[maybe_unused]] inline bool any(vi mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
