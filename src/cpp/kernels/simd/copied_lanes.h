// The first lanes of a vector through memory, where no instruction moves them.
#pragma once

#include "kernels/simd/vectors.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline vf load_n(const float* p, int64_t n) {
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}
[[maybe_unused]] inline void store_n(float* p, vf x, int64_t n) {
  float lanes[kLanes];
  store(lanes, x);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
