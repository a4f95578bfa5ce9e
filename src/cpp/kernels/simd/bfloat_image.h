// Elements of bfloat16 side by side as vectors of float32. Reading them is exact and plain movement, so that
// files of any set may; rounding to them (narrowed) is with the words of simd/bfloat.h.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint16_t vb __attribute__((vector_size(kLanes * 2)));
typedef uint16_t vb_any __attribute__((vector_size(kLanes * 2), aligned(2), may_alias));

#if defined(WALLE_ISA_AVX512)
// One permutation: extending and shifting are two, the second of which waits for a multiplier's port.
[[maybe_unused]] inline vf load(const uint16_t* p) {
  typedef int16_t vs __attribute__((vector_size(64)));
  static constexpr vs kOdd = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                              0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
  return reinterpret_cast<vf>(_mm512_maskz_permutexvar_epi16(0xaaaaaaaau, reinterpret_cast<__m512i>(kOdd),
                                                             _mm512_castsi256_si512(words)));
}
#else
[[maybe_unused]] inline vf load(const uint16_t* p) {
  return reinterpret_cast<vf>(__builtin_convertvector(*reinterpret_cast<const vb_any*>(p), vu) << 16);
}
#endif
[[maybe_unused]] inline void store(uint16_t* p, vb x) { *reinterpret_cast<vb_any*>(p) = x; }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
