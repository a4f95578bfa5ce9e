// x86-64 up to SSE4.2, the scalar set among them: SSE2 is what every processor of this architecture has.
#pragma once

#include <immintrin.h>

#include "kernels/simd/four_lanes.h"

// Behind the lanes that it copies.
#include "kernels/simd/copied_lanes.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kRegisters = 16;

[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(_mm_max_ps(reinterpret_cast<__m128>(limit), reinterpret_cast<__m128>(x)));
}
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(_mm_min_ps(reinterpret_cast<__m128>(limit), reinterpret_cast<__m128>(x)));
}
[[maybe_unused]] inline vf square_root(vf x) {
  return reinterpret_cast<vf>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
}
[[maybe_unused]] inline bool any(vi mask) { return _mm_movemask_ps(reinterpret_cast<__m128>(mask)) != 0; }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
