// Words of two float16 in no instruction set: what fmla and fcvtn of ARMv8.2 do, lane by lane, so that
// packing, tails, offsets and chains are tested where no processor has them. WALLE_ISA_NS is set.
#pragma once

#include <cmath>

#include "kernels/simd/words.h"
#include "tensor/half.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

inline float wide(uint32_t bits) { return tensor::half_bits_to_float(static_cast<uint16_t>(bits)); }
inline float rounded(float x) { return wide(tensor::float_to_half_bits(x)); }

struct vh {
  float lanes[kLanes];
};
struct TwoSteps {
  vh first, second;
};

[[maybe_unused]] inline TwoSteps two_steps(const uint32_t* p) {
  TwoSteps out;
  for (int lane = 0; lane < kLanes; ++lane) {
    out.first.lanes[lane] = wide(p[lane / 2] >> lane % 2 * 16 & 0xffffu);
    out.second.lanes[lane] = wide(p[(kLanes + lane) / 2] >> lane % 2 * 16 & 0xffffu);
  }
  return out;
}

[[maybe_unused]] inline uint32_t word_at(const uint32_t* p) { return *p; }
[[maybe_unused]] inline vh no_sum() { return {}; }

// A product has 22 bits, and a sum of float32's 24 is rounded once more: as far as that can be seen, a test
// allows for it.
template <int k>
inline vh add_product(vh acc, vh b, uint32_t word) {
  const float a = wide(k == 0 ? word & 0xffffu : word >> 16);
  for (int lane = 0; lane < kLanes; ++lane)
    acc.lanes[lane] = rounded(std::fma(a, b.lanes[lane], acc.lanes[lane]));
  return acc;
}

[[maybe_unused]] inline void add_to(float* sums, vh x, bool first) {
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = first ? x.lanes[lane] : sums[lane] + x.lanes[lane];
}

[[maybe_unused]] inline uint32_t pair_of(float first, float second) {
  return tensor::float_to_half_bits(first) | static_cast<uint32_t>(tensor::float_to_half_bits(second)) << 16;
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
[[maybe_unused]] inline vu in_panel(vf even, vf odd) {
  static_assert(kLanes % 2 == 0);
  const vu first = in_order(even, even), second = in_order(odd, odd);
  vu out{};
  for (int word = 0; word < kLanes; ++word)
    out[word] = word < kLanes / 2 ? first[word] : second[word - kLanes / 2];
  return out;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
