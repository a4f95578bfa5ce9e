// Eight bytes of two rows by eight bytes of two columns: usmmla of ARMv8.6's int8 matrix products, of `a`
// unsigned and of `b` signed; and usdot, the quads of that extension.
//
//   eights(acc, a, b)  acc + {a0 b0, a0 b1, a1 b0, a1 b1}, the sums of eight products each
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr bool kSignedQuads = false;
constexpr bool kWordsByLane = false;

inline vu words(vu acc, vu a, vu b) {
  return reinterpret_cast<vu>(vusdotq_s32(reinterpret_cast<int32x4_t>(acc), reinterpret_cast<uint8x16_t>(a),
                                          reinterpret_cast<int8x16_t>(b)));
}

inline vu eights(vu acc, vu a, vu b) {
  return reinterpret_cast<vu>(vusmmlaq_s32(reinterpret_cast<int32x4_t>(acc), reinterpret_cast<uint8x16_t>(a),
                                           reinterpret_cast<int8x16_t>(b)));
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
