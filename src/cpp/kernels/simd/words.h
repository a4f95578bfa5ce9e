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

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
