// Dense convolution from rows of pixels to blocks of channels: the tiles of blocked_dense_simd.h, where the
// next input of a pixel is another tap or another plane, so that every step is one of a list. Only
// blocked_simd.cc includes this.
#pragma once

#include "kernels/blocked/blocked_dense_simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// M pixels from number `first` on. `Step`: floats between their inputs; 0: what the task says.
template <int M, int V, int Step>
void row_tile(const BlockedDense& d, int64_t first) {
  const int64_t step = Step > 0 ? Step : d.x_step;
  const float* x = d.x + first * step;
  vf acc[M][V];
  start_at_bias(d, acc);
  float sums[M * V * kLanes];
  bool first_chain = true;
  for (int64_t t = 0; t < d.taps;) {
    const int64_t end = min64(t + kDenseChain, d.taps);
    for (; t < end; ++t) multiply_add(acc, x + d.tap[t], step, d.weights + d.which[t] * kNr);
    if (end == d.taps) break;
    end_chain(acc, sums, first_chain);
    first_chain = false;
  }
  if (!first_chain) add_chains(acc, sums);
  finish(d, acc, first * d.y_step);
}

template <int V, int Step>
DenseTile row_tile_for(int64_t pixels) {
  static constexpr DenseTile tiles[] = {WALLE_TILES(row_tile, V, Step)};
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[pixels - 1];
}

template <int V>
void row_panel(const BlockedDense& d) {
  const auto tile_of = d.x_step == 1   ? row_tile_for<V, 1>
                       : d.x_step == 2 ? row_tile_for<V, 2>
                                       : row_tile_for<V, 0>;
  equal_tiles<V>(d, tile_of);
}

void rows_to_blocks(const BlockedDense& d) {
#if defined(WALLE_ISA_AVX512)
  if (d.narrow) return row_panel<1>(d);
#endif
  row_panel<2>(d);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
