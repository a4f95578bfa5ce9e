// What TDPBF16PS does, element by element. Behind kernels/bfloat_emulated.h.
#pragma once

#include "kernels/tiles_emulated.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <bool kBoth>
inline void multiply_tiles(const uint32_t* a, int64_t row, const uint32_t* b, int64_t panel) {
  for (int64_t tile = 0; tile < (kBoth ? 2 : 1); ++tile)
    for (int64_t i = tile * kTileRows; i < tile * kTileRows + tiles.rows[tile]; ++i)
      for (int64_t j = 0; j < 2 * kLanes; ++j) {
        float low = 0, high = 0;
        for (int64_t s = 0; s < tiles.words; ++s) {
          const uint32_t x = a[i * row + s], y = b[s * panel + j];
          low = flushed(fused(wide(x << 16), wide(y << 16), low));
          high = flushed(fused(wide(x & 0xffff0000u), wide(y & 0xffff0000u), high));
        }
        const auto sum = __builtin_bit_cast(float, tiles.sums[i][j]);
        tiles.sums[i][j] = __builtin_bit_cast(uint32_t, flushed(sum + flushed(low + high)));
      }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
