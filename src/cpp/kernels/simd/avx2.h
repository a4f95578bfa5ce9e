// AVX2 with FMA and F16C.
#pragma once

#include <immintrin.h>

#define WALLE_LANES 8
#include "kernels/simd/copied_lanes.h"
#include "kernels/simd/plain.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kRegisters = 16;

[[maybe_unused]] inline vf splat(float x) { return vf{x, x, x, x, x, x, x, x}; }

using Lanes = vi;
[[maybe_unused]] inline Lanes lanes_between(int64_t first, int64_t last) {
  const int64_t from = first < 0 ? 0 : first > kLanes ? kLanes : first;
  const int64_t to = last < from ? from : last > kLanes ? kLanes : last;
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (lane >= static_cast<int32_t>(from)) & (lane < static_cast<int32_t>(to));
}
[[maybe_unused]] inline vf load_lanes(const float* p, Lanes which) {
  return reinterpret_cast<vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(which)));
}

[[maybe_unused]] inline vf even_lanes(vf a, vf b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
[[maybe_unused]] inline vf odd_lanes(vf a, vf b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}
[[maybe_unused]] inline vf shifted(vf x, float last) {
  return __builtin_shufflevector(x, splat(last), 1, 2, 3, 4, 5, 6, 7, 8);
}
[[maybe_unused]] inline vf other_of_pair(vf x) {
  return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
}
template <int k>
[[maybe_unused]] inline vf splat_of_four(vf x) {
  return __builtin_shufflevector(x, x, k, k, k, k, k + 4, k + 4, k + 4, k + 4);
}

[[maybe_unused]] inline vf max_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(_mm256_max_ps(reinterpret_cast<__m256>(limit), reinterpret_cast<__m256>(x)));
}
[[maybe_unused]] inline vf min_keep_nan(vf limit, vf x) {
  return reinterpret_cast<vf>(_mm256_min_ps(reinterpret_cast<__m256>(limit), reinterpret_cast<__m256>(x)));
}
[[maybe_unused]] inline vf square_root(vf x) {
  return reinterpret_cast<vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
}
[[maybe_unused]] inline bool any(vi mask) { return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) != 0; }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
