// Numbers as bfloat16 for tests: rounded half to even, subnormal ones to zeros.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace walle::kernels {

// Subnormal ones like all others.
inline float rounded_as_any(float x) {
  if (x != x) return x;
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

inline float rounded(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : rounded_as_any(x);
}

inline std::vector<uint16_t> bf16_of(const std::vector<float>& x) {
  std::vector<uint16_t> out;
  out.reserve(x.size());
  for (const float v : x) out.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded(v)) >> 16));
  return out;
}

inline std::vector<float> floats_of(const std::vector<uint16_t>& x) {
  std::vector<float> out;
  out.reserve(x.size());
  for (const uint16_t v : x) out.push_back(std::bit_cast<float>(uint32_t{v} << 16));
  return out;
}

}  // namespace walle::kernels
