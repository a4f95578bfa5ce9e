// Codes by int8 in no instruction set: what sdot does, lane by lane, with codes of 8 bits less 128.
#define WALLE_ISA_NS emulated_sdot
#define WALLE_ISA_SCALAR 1
#include "kernels/simd.h"
// Behind simd.h.
#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr bool kSignedCodes = true;

template <int B>
inline vu dot(vu acc, vu codes, vu a) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int q = 0; q < 4; ++q) {
      const auto x = static_cast<int32_t>(static_cast<int8_t>(codes[lane] >> (8 * q)));
      const auto y = static_cast<int32_t>(static_cast<int8_t>(a[lane] >> (8 * q)));
      acc[lane] += static_cast<uint32_t>(x * y);
    }
  return acc;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#include "kernels/gemm_nbits/nbits_dot.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const NBitsDotTable kGemmNBitsDot;
const NBitsDotTable kGemmNBitsDot = {.nr = kNr, .few_rows = 6, .block = block};

}  // namespace walle::kernels::WALLE_ISA_NS
