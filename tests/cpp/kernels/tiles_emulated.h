// Tiles of 16 rows in no instruction set (kernels/simd/tiles.h), with bits of sums.
#pragma once

#include <gtest/gtest.h>

#include "kernels/simd/words.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileWords = 16;

struct Tiles {
  int64_t rows[2] = {0, 0};  // upper, lower
  int64_t words = 0;
  uint32_t sums[2 * kTileRows][2 * kLanes];
};
thread_local Tiles tiles;

inline void configure_tiles(int64_t upper, int64_t lower, int64_t words) {
  EXPECT_TRUE(upper > 0 && upper <= kTileRows && lower >= 0 && lower <= kTileRows);
  EXPECT_TRUE(words > 0 && words <= kTileWords);
  tiles.words = words;
  tiles.rows[0] = upper;
  tiles.rows[1] = lower;
}

template <bool kBoth>
inline void clear_tiles() {
  EXPECT_EQ(tiles.rows[1] > 0, kBoth) << "a tile without rows is no tile";
  for (auto& row : tiles.sums)
    for (uint32_t& sum : row) sum = 0;
}

template <bool kBoth, class Sum>
inline void store_tiles(Sum* c, int64_t row) {
  for (int64_t tile = 0; tile < (kBoth ? 2 : 1); ++tile)
    for (int64_t i = tile * kTileRows; i < tile * kTileRows + tiles.rows[tile]; ++i)
      for (int64_t j = 0; j < 2 * kLanes; ++j) c[i * row + j] = __builtin_bit_cast(Sum, tiles.sums[i][j]);
}

inline void release_tiles() { tiles.rows[0] = tiles.rows[1] = 0; }
inline void in_memory() {}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
