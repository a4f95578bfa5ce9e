// 2-D transpose of units. src[r * src_pitch + c] -> dst[c * dst_pitch + r]: rows r and columns c, units
// contiguous along c in the source and along r in the destination; pitches in bytes.
//
// In blocks, so that every cache line of both sides is used whole while it is there; within a block square
// tiles of as many units as a 16-byte register holds, which every supported CPU has. Bytes one by one
// took 4.6 times as long as onnxruntime's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace walle::kernels {

namespace transpose_detail {
template <class Unit>
struct Tile {
  using Register [[gnu::vector_size(16)]] = Unit;
  static constexpr int kUnits = 16 / sizeof(Unit);

  template <size_t... I>
  static Register low(Register a, Register b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + I % 2 * kUnits)...);
  }
  template <size_t... I>
  static Register high(Register a, Register b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + kUnits / 2 + I % 2 * kUnits)...);
  }

  // Interleaving row i with row i + half, as often as there are bits in a row's number, is the transpose:
  // every time each bit of (row, column) moves one place around.
  static void transpose(const std::byte* src, int64_t sp, std::byte* dst, int64_t dp) {
    constexpr auto kIndices = std::make_index_sequence<kUnits>();
    Register rows[kUnits];  // std::array would drop the attribute of its elements' type
    for (int i = 0; i < kUnits; ++i) std::memcpy(&rows[i], src + i * sp, sizeof(Register));
#pragma GCC unroll 4
    for (int step = 1; step < kUnits; step *= 2) {
      Register next[kUnits];
#pragma GCC unroll 8
      for (int i = 0; i < kUnits / 2; ++i) {
        next[2 * i] = low(rows[i], rows[i + kUnits / 2], kIndices);
        next[2 * i + 1] = high(rows[i], rows[i + kUnits / 2], kIndices);
      }
      std::memcpy(rows, next, sizeof(rows));
    }
    for (int i = 0; i < kUnits; ++i) std::memcpy(dst + i * dp, &rows[i], sizeof(Register));
  }
};

// A register already.
template <class Unit>
inline constexpr int64_t kTile = sizeof(Unit) < 16 ? 16 / sizeof(Unit) : 1;

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

// Elements along the edge of a tile one by one, and all where a unit is a register.
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
        Tile<Unit>::transpose(src + r * sp + c * kUnit, sp, dst + c * dp + r * kUnit, dp);
    corner<Unit>(rt, r1, c0, c1, src, sp, dst, dp);
    corner<Unit>(r0, rt, ct, c1, src, sp, dst, dp);
  }
}
}  // namespace transpose_detail

template <class Unit>
void transpose_units(int64_t columns, int64_t rows, const std::byte* src, int64_t src_pitch, std::byte* dst,
                     int64_t dst_pitch) {
  // One line of 64 bytes per row and side. With two, rows of 4,096 bytes met in the same few sets of the
  // first-level cache, and 1024 x 768 floats took twice as long.
  constexpr int64_t kBlock = 64 / sizeof(Unit);
  for (int64_t c = 0; c < columns; c += kBlock)
    for (int64_t r = 0; r < rows; r += kBlock)
      transpose_detail::block<Unit>(r, std::min(rows, r + kBlock), c, std::min(columns, c + kBlock), src,
                                    src_pitch, dst, dst_pitch);
}

}  // namespace walle::kernels
