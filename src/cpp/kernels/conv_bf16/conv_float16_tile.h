// Register tiles of the convolution in float16, for a file that has defined the words of simd/float16.h: as
// conv_bf16_tile.h, with chains of sums that go to memory in float32 (kernels/float16_steps.h).
#pragma once

#include "kernels/conv_bf16/conv_bf16_words.h"
#include "kernels/float16_steps.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// One pixel after another, because all at once would be half of a tile's code.
template <int V>
__attribute__((noinline)) void start_sums(const ConvBf16Task& t, int pixels, float* sums) {
  vf one[1][V];
  start_at_bias(t, one);
  for (int i = 0; i < pixels; ++i, sums += V * kLanes)
    for (int v = 0; v < V; ++v) store(sums + v * kLanes, one[0][v]);
}
template <int V>
__attribute__((noinline)) void finish_sums(const ConvBf16Task& t, int64_t first, int pixels,
                                           const float* sums) {
  for (int i = 0; i < pixels; ++i, sums += V * kLanes) {
    vf one[1][V];
    for (int v = 0; v < V; ++v) one[0][v] = load(sums + v * kLanes);
    finish(t, one, (first + i) * t.y_step);
  }
}

// M pixels from number `first` on.
template <int M, int V>
void float16_tile(const ConvBf16Task& t, int64_t first) {
  float sums[M * V * kLanes];
  start_sums<V>(t, M, sums);
  vh acc[M][V];
  begin_short(acc);
  int64_t left = kShortChain;
  const uint32_t* b = t.weights;
  NextWords next(t, first, M);
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * t.x_step + t.tap[k];
    for (int64_t word = 0; word < t.words; x += t.x_block) {
      const uint32_t* p = x;
      const int64_t n = fewer(t.of_block, t.words - word);
      next.fetch();
      multiply_short_along(acc, p, t.x_step, b, n);
      word += n;
      left -= n;
      if (left > 0) continue;
      end_short(acc, sums, V * kLanes, false);
      begin_short(acc);
      left = kShortChain;
    }
  }
  end_short(acc, sums, V * kLanes, false);
  finish_sums<V>(t, first, M, sums);
}

using Float16Tile = void (*)(const ConvBf16Task&, int64_t);

template <int V>
Float16Tile float16_tile_for(int64_t pixels) {
  if constexpr (kMostPixels<V> == 8) {
    static constexpr Float16Tile tiles[] = {WALLE_TILES_6(float16_tile, V), float16_tile<7, V>,
                                            float16_tile<8, V>};
    return tiles[pixels - 1];
  } else {
    static constexpr Float16Tile tiles[] = {WALLE_TILES(float16_tile, V)};
    return tiles[pixels - 1];
  }
}

void dense(const ConvBf16Task& t) {
  t.narrow ? equal_tiles<1, kMostPixels<1>>(t, float16_tile_for<1>)
           : equal_tiles<kVectors>(t, float16_tile_for<kVectors>);
}

constexpr ConvBf16Table kFloat16Table = {.lanes = kLanes,
                                         .rows = kMr,
                                         .apart = true,
                                         .dense = dense,
                                         .to_words = to_words,
                                         .rows_to_words = rows_to_words,
                                         .winograd_input = nullptr};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
