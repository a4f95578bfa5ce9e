// Words of four bytes and their product, of `a` unsigned and of `b` signed: vpdpbusd of AVX-512 VNNI, and of
// AVX-VNNI in 256 bits.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

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
