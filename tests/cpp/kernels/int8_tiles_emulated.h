// What TDPBUSD does, byte by byte. Behind kernels/int8_words_emulated.h.
#pragma once

#include "kernels/tiles_emulated.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <bool kBoth>
inline void multiply_tiles(const uint32_t* a, int64_t row, const uint32_t* b, int64_t panel) {
  for (int64_t tile = 0; tile < (kBoth ? 2 : 1); ++tile)
    for (int64_t i = tile * kTileRows; i < tile * kTileRows + tiles.rows[tile]; ++i)
      for (int64_t l = 0; l < 4 * tiles.words; ++l) {
        // Columns innermost, for the compiler's vectors: tests of tiles take minutes otherwise.
        const int32_t x = first_byte(a[i * row + l / 4], static_cast<int>(l % 4));
        const uint32_t* const y = b + l / 4 * panel;
        uint32_t* const sums = tiles.sums[i];
        for (int64_t j = 0; j < 2 * kLanes; ++j)
          sums[j] += static_cast<uint32_t>(x * second_byte(y[j], static_cast<int>(l % 4)));
      }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
