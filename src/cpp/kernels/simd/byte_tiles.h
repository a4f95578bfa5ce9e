// Products of four bytes by tiles (simd/tiles.h), of A unsigned and of B signed, in int32 that wraps.
#pragma once

#include "kernels/simd/tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

template <bool kBoth>
inline __attribute__((always_inline)) void multiply_tiles(const uint32_t* a, int64_t row, const uint32_t* b,
                                                          int64_t panel) {
  _tile_loadd(6, b, panel * 4);
  _tile_loadd(4, a, row * 4);
  _tile_loadd(7, b + kLanes, panel * 4);
  _tile_dpbusd(0, 4, 6);
  _tile_dpbusd(1, 4, 7);
  if constexpr (kBoth) {
    _tile_loadd(5, a + kTileRows * row, row * 4);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
