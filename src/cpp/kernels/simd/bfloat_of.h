// One float32 as bfloat16, as vcvtneps2bf16 rounds it. In every set's own namespace, as simd.h says why.
#pragma once

#include <stdint.h>
#include <string.h>

namespace walle::kernels::WALLE_ISA_NS {
namespace {

[[maybe_unused]] inline uint32_t bfloat_of(float x) {
  uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return bits >> 16 | 0x40u;  // also of a NaN whose low bits alone are set
  if (magnitude < 0x00800000u) return bits >> 16 & 0x8000u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// Two elements as a word: the first one is the low half.
[[maybe_unused]] inline uint32_t pair_of(float first, float second) {
  return bfloat_of(first) | bfloat_of(second) << 16;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
