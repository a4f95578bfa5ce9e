// The exact 8-bit product by quads of bytes: vpdpbusd of AVX-512 VNNI, and of AVX-VNNI in 256 bits.
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint32_t vu __attribute__((vector_size(kLanes * 4)));
typedef uint32_t vu_any __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

inline vu words(vu acc, vu a, vu b) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vu>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<vu>(_mm256_dpbusd_avx_epi32(
      reinterpret_cast<__m256i>(acc), reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS

#include "kernels/gemm_int8/int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = {
    .mr = kMr, .nr = kNr, .step = 4, .sums = 2, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
