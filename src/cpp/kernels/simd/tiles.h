// Tiles of AMX: two of 16 rows of A times two of 16 columns of B, sums in four. What they multiply by is the
// instruction that WALLE_TILE_PRODUCTS names: bfloat_tiles.h and byte_tiles.h include this file with theirs.
//
//   configure_tiles(upper, lower, words)
//     rows of the two tiles of A, from 1 to 16, lower 0: there is one; words of k, kTileWords at most
//   clear_tiles<kBoth>()
//     sums are zero
//   multiply_tiles<kBoth>(a, row, b, panel)
//     + the products of so many words: A's word (i, s) at a[i * row + s], B's word (s, j) at b[s * panel + j]
//   store_tiles<kBoth>(c, row)
//     the sums of 32 rows, of 32 bits each
//   release_tiles()
//     before anybody else computes: the system then has no tiles to keep
//
// The system lends tiles to processes that ask (kernels/tiles_lent.h).
#pragma once

#include <immintrin.h>

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileWords = 16;

struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t first_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0 to 3 are sums (upper rows, lower rows), 4 and 5 of A, 6 and 7 of B.
inline void configure_tiles(int64_t upper, int64_t lower, int64_t words) {
  TileShapes shapes;
  for (int i = 0; i < 8; ++i) {
    const int64_t rows = i >= 6 ? words : i == 2 || i == 3 || i == 5 ? lower : upper;
    shapes.rows[i] = static_cast<uint8_t>(rows);
    shapes.row_bytes[i] = static_cast<uint16_t>(rows == 0 ? 0 : i == 4 || i == 5 ? words * 4 : 64);
  }
  _tile_loadconfig(&shapes);
}

template <bool kBoth>
inline __attribute__((always_inline)) void clear_tiles() {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kBoth) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

template <bool kBoth>
inline __attribute__((always_inline)) void multiply_tiles(const uint32_t* a, int64_t row, const uint32_t* b,
                                                          int64_t panel) {
  _tile_loadd(6, b, panel * 4);
  _tile_loadd(4, a, row * 4);
  _tile_loadd(7, b + kLanes, panel * 4);
  WALLE_TILE_PRODUCTS(0, 4, 6);
  WALLE_TILE_PRODUCTS(1, 4, 7);
  if constexpr (kBoth) {
    _tile_loadd(5, a + kTileRows * row, row * 4);
    WALLE_TILE_PRODUCTS(2, 5, 6);
    WALLE_TILE_PRODUCTS(3, 5, 7);
  }
}

template <bool kBoth, class Sum>
inline __attribute__((always_inline)) void store_tiles(Sum* c, int64_t row) {
  _tile_stored(0, c, row * 4);
  _tile_stored(1, c + kLanes, row * 4);
  if constexpr (kBoth) {
    _tile_stored(2, c + kTileRows * row, row * 4);
    _tile_stored(3, c + kTileRows * row + kLanes, row * 4);
  }
}

inline void release_tiles() { _tile_release(); }

// What asm that names no memory needs around it.
inline void in_memory() { asm volatile("" ::: "memory"); }

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
