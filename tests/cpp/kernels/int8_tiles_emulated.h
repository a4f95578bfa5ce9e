// What TDPBUSD does, byte by byte. Behind kernels/int8_words_emulated.h.
#pragma once

#include "kernels/tiles_emulated.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <bool kBoth>
inline void multiply_tiles(const uint32_t* a, int64_t row, const uint32_t* b, int64_t panel) {
  for (int64_t tile = 0; tile < (kBoth ? 2 : 1); ++tile)
    for (int64_t i = tile * kTileRows; i < tile * kTileRows + tiles.rows[tile]; ++i)
      for (int64_t j = 0; j < 2 * kLanes; ++j) {
        for (int64_t s = 0; s < tiles.words; ++s)
          for (int q = 0; q < 4; ++q)
            tiles.sums[i][j] +=
                static_cast<uint32_t>(first_byte(a[i * row + s], q) * second_byte(b[s * panel + j], q));
      }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
