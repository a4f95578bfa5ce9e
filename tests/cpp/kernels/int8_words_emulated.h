// Words of four bytes in no instruction set: what vpdpbusd does, lane by lane, so that packing, tails,
// offsets and sums are tested where no processor has it.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

inline vu words(vu acc, vu a, vu b) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int q = 0; q < 4; ++q) {
      const auto x = static_cast<int32_t>(static_cast<uint8_t>(a[lane] >> (8 * q)));
      const auto y = static_cast<int32_t>(static_cast<int8_t>(b[lane] >> (8 * q)));
      acc[lane] += static_cast<uint32_t>(x * y);
    }
  return acc;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
