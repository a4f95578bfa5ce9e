// Words of four bytes and their product. Of `a` unsigned and of `b` signed: vpdpbusd of AVX-512 VNNI, and of
// AVX-VNNI in 256 bits. Of both signed (kSignedQuads): sdot of ARMv8.2, which multiplies by a lane as well.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_ISA_NEON)
constexpr bool kSignedQuads = true;
constexpr bool kWordsByLane = true;

inline int8x16_t signed_bytes(vu x) { return reinterpret_cast<int8x16_t>(x); }

inline vu words(vu acc, vu a, vu b) {
  return reinterpret_cast<vu>(vdotq_s32(reinterpret_cast<int32x4_t>(acc), signed_bytes(a), signed_bytes(b)));
}

// As kernels/word_steps.h wants them.
template <int V>
inline void turn_for_lanes(vu (&)[V]) {}
template <int lane, int V>
inline __attribute__((always_inline)) void words_of_lane(vu (&acc)[V], vu four, const vu (&b)[V]) {
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v)
    acc[v] = reinterpret_cast<vu>(
        vdotq_laneq_s32(reinterpret_cast<int32x4_t>(acc[v]), signed_bytes(b[v]), signed_bytes(four), lane));
}
#else
constexpr bool kSignedQuads = false;
constexpr bool kWordsByLane = false;

inline vu words(vu acc, vu a, vu b) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vu>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<vu>(_mm256_dpbusd_avx_epi32(
      reinterpret_cast<__m256i>(acc), reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
