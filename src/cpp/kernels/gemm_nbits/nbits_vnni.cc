// Codes by int8 with vpdpbusd: of AVX-512 VNNI, and of AVX-VNNI in 256 bits; and with sdot.
#include "kernels/simd.h"
// Behind simd.h.
#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_NEON)
constexpr bool kSignedCodes = true;
#else
constexpr bool kSignedCodes = false;
#endif

template <int B>
inline vu dot(vu acc, vu codes, vu a) {
#if defined(WALLE_ISA_NEON)
  return reinterpret_cast<vu>(vdotq_s32(reinterpret_cast<int32x4_t>(acc), reinterpret_cast<int8x16_t>(codes),
                                        reinterpret_cast<int8x16_t>(a)));
#elif defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vu>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(codes), reinterpret_cast<__m512i>(a)));
#else
  return reinterpret_cast<vu>(_mm256_dpbusd_avx_epi32(
      reinterpret_cast<__m256i>(acc), reinterpret_cast<__m256i>(codes), reinterpret_cast<__m256i>(a)));
#endif
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#include "kernels/gemm_nbits/nbits_dot.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const NBitsDotTable kGemmNBitsDot;
const NBitsDotTable kGemmNBitsDot = {
    .nr = kNr, .few_rows = kRegisters == 32 && kLanes == 4 ? 6 : 8, .block = block};

}  // namespace walle::kernels::WALLE_ISA_NS
