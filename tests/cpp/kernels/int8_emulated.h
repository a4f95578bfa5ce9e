// The product by quads in no instruction set: what vpdpbusd does, lane by lane, so that packing, tails,
// offsets and sums are tested where no processor has it.
#pragma once

#define WALLE_ISA_NS emulated
#define WALLE_ISA_SCALAR 1
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint32_t vu __attribute__((vector_size(kLanes * 4)));
typedef uint32_t vu_any __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

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

#include "kernels/gemm_int8/int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {

inline const Int8Table kGemmInt8 = {
    .mr = kMr, .nr = kNr, .step = 4, .sums = 2, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
