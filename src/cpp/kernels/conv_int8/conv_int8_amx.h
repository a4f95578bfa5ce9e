// The convolution of codes by tiles of 32 pixels and 32 output channels, for a file that has included the
// tiles of kernels/simd/byte_tiles.h, or what stands for them in tests, and conv_int8_quads.h.
//
// A tile's row is the sixteen quads of four of a pixel's blocks, which lie side by side where rows are
// copied, or the four of one block where there are no four. Images of fewer channels than a block, and panels
// of one vector, are multiplied by the register tiles.
#pragma once

#include "kernels/conv_int8/conv_int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kVectors == 2 && !kSignedQuads);
constexpr int64_t kAmxPixels = 2 * kTileRows;
// Below, register tiles wait for the weights as long.
constexpr int64_t kFewestAmxPixels = 5;

template <bool kBoth>
void int8_amx_sums(const ConvInt8Task& t, int64_t first, int32_t* sums) {
  clear_tiles<kBoth>();
  const uint32_t* b = t.weights;
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * t.x_step + t.tap[k];
    for (int64_t block = 0; block < t.blocks; ++block, x += t.x_block, b += t.words * kNr)
      multiply_tiles<kBoth>(x, t.x_step, b, kNr);
  }
  in_memory();
  store_tiles<kBoth>(sums, kNr);
  in_memory();
}

void dense_amx(const ConvInt8Task& t) {
  if (t.narrow || t.words % (kBlock / 4) != 0 || t.pixels < kFewestAmxPixels) return dense(t);
  alignas(64) int32_t sums[kAmxPixels * kNr];
  int64_t before = 0;
  for (int64_t first = 0; first < t.pixels; first += kAmxPixels) {
    const int64_t pixels = t.pixels - first < kAmxPixels ? t.pixels - first : kAmxPixels;
    if (pixels != before)
      configure_tiles(pixels < kTileRows ? pixels : kTileRows, pixels > kTileRows ? pixels - kTileRows : 0,
                      t.words);
    before = pixels;
    (pixels > kTileRows ? int8_amx_sums<true> : int8_amx_sums<false>)(t, first, sums);
    for (int v = 0; v < 2; ++v) {
      const vu start = load_words(t.start + v * kLanes);
      int32_t* const mine = sums + v * kLanes;
      const int64_t at = first * kBlock + v * t.y_vector;
      for (int64_t i = 0; i < pixels; ++i)
        store_words(t.sums ? t.sums + at + i * kBlock : mine + i * kNr, load_words(mine + i * kNr) + start);
      if (!t.sums) end_codes(t.end, mine, kNr, pixels, v * kLanes, t.y, at);
    }
  }
  release_tiles();
}

constexpr ConvInt8Table kAmxTable = {.lanes = kLanes,
                                     .rows = kAmxPixels,
                                     .step = 4,
                                     .together = 4,
                                     .is_signed = kSignedQuads,
                                     .dense = dense_amx,
                                     .depthwise = depthwise,
                                     .to_words = to_words,
                                     .taps_to_words = taps_to_words,
                                     .image_to_points = nullptr,
                                     .winograd_panel = nullptr,
                                     .rows_to_words = rows_to_words};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
