// What sets of 128-bit vectors have in common: the order of lanes, and parts of a vector through memory.
#pragma once

#define WALLE_LANES 4
#include "kernels/simd/plain.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline vf splat(float x) { return vf{x, x, x, x}; }

struct Lanes {
  int first, last;
};
[[maybe_unused]] inline Lanes lanes_between(int64_t first, int64_t last) {
  const int64_t from = first < 0 ? 0 : first > kLanes ? kLanes : first;
  const int64_t to = last < from ? from : last > kLanes ? kLanes : last;
  return {static_cast<int>(from), static_cast<int>(to)};
}
[[maybe_unused]] inline vf load_lanes(const float* p, Lanes which) {
  float lanes[kLanes] = {};
  for (int i = which.first; i < which.last; ++i) lanes[i] = p[i];
  return load(lanes);
}

[[maybe_unused]] inline vf even_lanes(vf a, vf b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
[[maybe_unused]] inline vf odd_lanes(vf a, vf b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
[[maybe_unused]] inline vf shifted(vf x, float last) {
  return __builtin_shufflevector(x, splat(last), 1, 2, 3, 4);
}
[[maybe_unused]] inline vf other_of_pair(vf x) { return __builtin_shufflevector(x, x, 1, 0, 3, 2); }
template <int k>
[[maybe_unused]] inline vf splat_of_four(vf x) {
  return __builtin_shufflevector(x, x, k, k, k, k);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
