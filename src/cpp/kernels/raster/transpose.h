// 2-D transpose of units. src[r * src_pitch + c] -> dst[c * dst_pitch + r]: rows r and columns c, units
// contiguous along c in the source and along r in the destination; pitches in bytes.
//
// In blocks, so that every cache line of both sides is used whole while it is there; within a block 4 x 4
// (4-byte units) and 2 x 2 (8-byte units) tiles go through 16-byte registers, which every supported CPU has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace walle::kernels {

namespace transpose_detail {
using V4 = uint32_t __attribute__((vector_size(16)));
using V2 = uint64_t __attribute__((vector_size(16)));

template <class V>
inline V load(const std::byte* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
inline void store(std::byte* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

inline void tile(uint32_t, const std::byte* src, int64_t sp, std::byte* dst, int64_t dp) {
  const V4 a = load<V4>(src);
  const V4 b = load<V4>(src + sp);
  const V4 c = load<V4>(src + 2 * sp);
  const V4 d = load<V4>(src + 3 * sp);
  // Interleaved pairs of rows, then pairs of those: two steps of log2(4).
  const V4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const V4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const V4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const V4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(dst, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store(dst + dp, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store(dst + 2 * dp, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store(dst + 3 * dp, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

inline void tile(uint64_t, const std::byte* src, int64_t sp, std::byte* dst, int64_t dp) {
  const V2 a = load<V2>(src);
  const V2 b = load<V2>(src + sp);
  store(dst, __builtin_shufflevector(a, b, 0, 2));
  store(dst + dp, __builtin_shufflevector(a, b, 1, 3));
}

template <class Unit>
inline constexpr int64_t kTile = 1;
template <>
inline constexpr int64_t kTile<uint32_t> = 4;
template <>
inline constexpr int64_t kTile<uint64_t> = 2;

template <class Unit>
inline void corner(int64_t r0, int64_t r1, int64_t c0, int64_t c1, const std::byte* src, int64_t sp,
                   std::byte* dst, int64_t dp) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t r = r0; r < r1; ++r) {
      Unit v;
      std::memcpy(&v, src + r * sp + c * kUnit, sizeof v);
      std::memcpy(dst + c * dp + r * kUnit, &v, sizeof v);
    }
}

// Elements along the edge of a tile, and all where there is no tile: of 16-byte units each is a register
// already, and 1- and 2-byte ones are rare enough for a plain loop.
template <class Unit>
void block(int64_t r0, int64_t r1, int64_t c0, int64_t c1, const std::byte* src, int64_t sp, std::byte* dst,
           int64_t dp) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
  constexpr int64_t t = kTile<Unit>;
  if constexpr (t == 1) {
    corner<Unit>(r0, r1, c0, c1, src, sp, dst, dp);
  } else {
    const int64_t rt = r0 + (r1 - r0) / t * t;
    const int64_t ct = c0 + (c1 - c0) / t * t;
    for (int64_t c = c0; c < ct; c += t)
      for (int64_t r = r0; r < rt; r += t)
        tile(Unit{}, src + r * sp + c * kUnit, sp, dst + c * dp + r * kUnit, dp);
    corner<Unit>(rt, r1, c0, c1, src, sp, dst, dp);
    corner<Unit>(r0, rt, ct, c1, src, sp, dst, dp);
  }
}
}  // namespace transpose_detail

template <class Unit>
void transpose_units(int64_t columns, int64_t rows, const std::byte* src, int64_t src_pitch, std::byte* dst,
                     int64_t dst_pitch) {
  // At most two lines of 64 bytes per row and side: a block stays in the first-level cache.
  constexpr int64_t kBlock = sizeof(Unit) >= 8 ? 16 : 32;
  for (int64_t c = 0; c < columns; c += kBlock)
    for (int64_t r = 0; r < rows; r += kBlock)
      transpose_detail::block<Unit>(r, std::min(rows, r + kBlock), c, std::min(columns, c + kBlock), src,
                                    src_pitch, dst, dst_pitch);
}

}  // namespace walle::kernels
