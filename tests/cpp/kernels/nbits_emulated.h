// Codes by int8 in no instruction set: what vpdpbusd does, lane by lane.
#pragma once

#define WALLE_ISA_NS emulated
#define WALLE_ISA_SCALAR 1
#include "kernels/simd.h"
// Behind simd.h.
#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr bool kSignedCodes = false;

template <int B>
inline vu dot(vu acc, vu codes, vu a) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int q = 0; q < 4; ++q) {
      const auto x = static_cast<int32_t>(static_cast<uint8_t>(codes[lane] >> (8 * q)));
      const auto y = static_cast<int32_t>(static_cast<int8_t>(a[lane] >> (8 * q)));
      acc[lane] += static_cast<uint32_t>(x * y);
    }
  return acc;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#include "kernels/gemm_nbits/nbits_dot.h"

namespace walle::kernels::WALLE_ISA_NS {

inline const NBitsDotTable kGemmNBitsDot = {.nr = kNr, .few_rows = 6, .block = block};

}  // namespace walle::kernels::WALLE_ISA_NS
