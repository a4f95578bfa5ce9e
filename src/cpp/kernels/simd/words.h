// Vectors of 32-bit words, whatever a word is made of: four int8, two int16, two bfloat16, packed bits.
#pragma once

#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

typedef uint32_t vu __attribute__((vector_size(kLanes * 4)));
typedef uint32_t vu_any __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

[[maybe_unused]] inline vu splat_word(uint32_t word) { return vu{} + word; }
[[maybe_unused]] inline vu load_words(const void* p) { return *static_cast<const vu_any*>(p); }
[[maybe_unused]] inline void store_words(void* p, vu x) { *static_cast<vu_any*>(p) = x; }

#if defined(WALLE_ISA_NEON) && !defined(WALLE_EIGHT_FLOATS)
// The two words at p and the two at q, for products of two rows at once.
[[maybe_unused]] inline vu two_of_each(const uint32_t* p, const uint32_t* q) {
  return reinterpret_cast<vu>(vcombine_u32(vld1_u32(p), vld1_u32(q)));
}
#endif

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
