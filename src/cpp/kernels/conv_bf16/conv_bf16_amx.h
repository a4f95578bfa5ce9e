// The convolution in bfloat16 by tiles of 32 pixels and 32 output channels, for a file that has included the
// tiles of kernels/simd/bfloat_tiles.h, or what stands for them in tests, and conv_bf16_tile.h.
//
// A tile's row is what a block of 16 channels has of a pixel, 8 words: half of what it could hold, as the
// next block lies a plane further. What fills no such row - images of three channels, an odd last block - and
// panels of one vector are multiplied by the register tiles.
#pragma once

#include "kernels/conv_bf16/conv_bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kVectors == 2, "two tiles of output channels");
constexpr int64_t kAmxPixels = 2 * kTileRows;
// Below, register tiles wait for the weights as long.
constexpr int64_t kFewestAmxPixels = 5;

// Sums of a chain of channels into `sums`, or on top of them.
template <bool kBoth>
inline void end_amx_chain(float* sums, int64_t pixels, bool first) {
  alignas(64) float later[kAmxPixels * kNr];
  in_memory();
  store_tiles<kBoth>(first ? sums : later, kNr);
  in_memory();
  if (first) return;
  for (int64_t i = 0; i < pixels * kNr; i += kLanes) store(sums + i, load(sums + i) + load(later + i));
}

template <bool kBoth>
void amx_sums(const ConvBf16Task& t, int64_t first, int64_t pixels, float* sums) {
  constexpr int64_t kChainWords = kDenseChain / 2;
  NextWords next(t, first, pixels);
  const uint32_t* b = t.weights;
  int64_t left = kChainWords;
  bool first_chain = true;
  clear_tiles<kBoth>();
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * t.x_step + t.tap[k];
    for (int64_t word = 0; word < t.words; word += kBlockWords, x += t.x_block, b += kBlockWords * kNr) {
      next.fetch();
      multiply_tiles<kBoth>(x, t.x_step, b, kNr);
      left -= kBlockWords;
      if (left > 0) continue;
      end_amx_chain<kBoth>(sums, pixels, first_chain);
      clear_tiles<kBoth>();
      first_chain = false;
      left = kChainWords;
    }
  }
  if (first_chain || left < kChainWords) end_amx_chain<kBoth>(sums, pixels, first_chain);
}

// M pixels from number `first` on, whose sums these are.
template <int M>
void amx_finish(const ConvBf16Task& t, int64_t first, const float* sums) {
  vf acc[M][kVectors];
  start_at_bias(t, acc);
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) acc[i][v] += load(sums + i * kNr + v * kLanes);
  if (t.y16) return finish_bf16(t, acc, first * t.y_step);
  finish(t, acc, first * t.y_step);
}

void amx_tiles(const ConvBf16Task& t) {
  if (t.pixels < kFewestAmxPixels) return bf16_tiles<kVectors>(t);
  alignas(64) float sums[kAmxPixels * kNr];
  int64_t before = 0, done = 0;
  for (int64_t first = 0; first < t.pixels; first += kAmxPixels) {
    const int64_t pixels = fewer(kAmxPixels, t.pixels - first);
    if (pixels != before)
      configure_tiles(fewer(pixels, kTileRows), pixels > kTileRows ? pixels - kTileRows : 0, kBlockWords);
    before = pixels;
    (pixels > kTileRows ? amx_sums<true> : amx_sums<false>)(t, first, pixels, sums);
    int64_t i = 0;
    for (; i + 4 <= pixels; i += 4) amx_finish<4>(t, first + i, sums + i * kNr);
    for (; i < pixels; ++i) amx_finish<1>(t, first + i, sums + i * kNr);
    if (first + pixels - done < kActivatedTiles * kMr && first + pixels < t.pixels) continue;
    activate_pixels<kVectors>(t, done, first + pixels);
    done = first + pixels;
  }
  release_tiles();
}

void amx_dense(const ConvBf16Task& t) {
  if (t.narrow || t.of_block != kBlockWords || t.words % kBlockWords != 0) return dense(t);
  panel_of<kVectors>(t, amx_tiles);
}

constexpr ConvBf16Table kAmxTable = {.lanes = kLanes,
                                     .rows = kAmxPixels,
                                     .dense = amx_dense,
                                     .to_words = to_words,
                                     .rows_to_words = rows_to_words,
                                     .winograd_input = winograd_input};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
