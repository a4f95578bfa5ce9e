// Words of four bytes in no instruction set, lane by lane, so that packing, tails, offsets and sums are
// tested where no processor has it: what vpdpbusd does, and what sdot does where WALLE_EMULATED_SDOT is
// defined, by lanes as on NEON.
#pragma once

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

#if defined(WALLE_EMULATED_SDOT)
constexpr bool kSignedQuads = true;
#else
constexpr bool kSignedQuads = false;
#endif
constexpr bool kWordsByLane = kSignedQuads;

// Byte q of a word, as the first and as the second operand.
inline int32_t first_byte(uint32_t word, int q) {
  const auto byte = static_cast<uint8_t>(word >> (8 * q));
  return kSignedQuads ? static_cast<int8_t>(byte) : byte;
}
inline int32_t second_byte(uint32_t word, int q) { return static_cast<int8_t>(word >> (8 * q)); }

inline vu words(vu acc, vu a, vu b) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int q = 0; q < 4; ++q)
      acc[lane] += static_cast<uint32_t>(first_byte(a[lane], q) * second_byte(b[lane], q));
  return acc;
}

template <int V>
inline void turn_for_lanes(vu (&)[V]) {}
template <int lane, int V>
inline void words_of_lane(vu (&acc)[V], vu four, const vu (&b)[V]) {
  for (int v = 0; v < V; ++v) acc[v] = words(acc[v], splat_word(four[lane]), b[v]);
}

[[maybe_unused]] inline vu two_of_each(const uint32_t* p, const uint32_t* q) {
  return vu{p[0], p[1], q[0], q[1]};
}
// Two rows by two columns, of eight bytes each.
[[maybe_unused]] inline vu eights(vu acc, vu a, vu b) {
  for (int lane = 0; lane < 4; ++lane)
    for (int q = 0; q < 8; ++q) {
      const uint32_t x = a[lane / 2 * 2 + q / 4], y = b[lane % 2 * 2 + q / 4];
      acc[lane] += static_cast<uint32_t>(first_byte(x, q % 4) * second_byte(y, q % 4));
    }
  return acc;
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
