// Register tiles of the convolution of codes, for a file that has defined `words`: pixels are broadcast,
// output channels lie in lanes, as in blocked_dense_simd.h.
#pragma once

#include "kernels/conv_int8/conv_int8_codes.h"
#include "kernels/word_steps.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Sums of M pixels from number `first` on, to memory: what makes codes of them is then one function for all
// tiles, and a tile's way through memory is less than the first of its input channels.
template <int M, int V>
void int8_tile(const ConvInt8Task& t, int64_t first, int32_t* sums) {
  vu acc[M][V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const vu start = load_words(t.start + v * kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) acc[i][v] = start;
  }
  const int64_t step = t.x_step;
  const uint32_t* b = t.weights;
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * step + t.tap[k];
    for (int64_t block = 0; block < t.blocks; ++block, x += t.x_block) {
      const uint32_t* p = x;
      multiply_words_along(acc, p, step, b, t.words);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) store_words(sums + (i * V + v) * kLanes, acc[i][v]);
}

using Int8Tile = void (*)(const ConvInt8Task&, int64_t, int32_t*);

template <int V>
inline Int8Tile int8_tile_for(int64_t pixels) {
  static constexpr Int8Tile tiles[] = {WALLE_TILES(int8_tile, V)};
  return tiles[pixels - 1];
}

template <int V, Int8Tile (*TileFor)(int64_t)>
void int8_panel(const ConvInt8Task& t) {
  // Some tiles are ended together: what that begins with, and pixels in fours, are a third of the time of a
  // few input channels otherwise.
  constexpr int64_t kTogether = 4;
  int32_t sums[kTogether * kMr * V * kLanes];
  // Equal tiles: 16 pixels as 8 + 8 keep the multipliers busy, 14 + 2 would wait for latency.
  const int64_t count = (t.pixels + kMr - 1) / kMr;
  for (int64_t n = 0; n < count;) {
    const int64_t from = t.pixels * n / count;
    int64_t pixels = 0;
    for (int64_t last = n + kTogether < count ? n + kTogether : count; n < last; ++n) {
      const int64_t more = t.pixels * (n + 1) / count - from - pixels;
      TileFor(more)(t, from + pixels, sums + pixels * V * kLanes);
      pixels += more;
    }
    for (int v = 0; v < V; ++v) {
      const int64_t at = from * kBlock + v * t.y_vector;
      if (t.sums) {
        for (int64_t i = 0; i < pixels; ++i)
          store_ints(t.sums + at + i * kBlock, load_ints(sums + (i * V + v) * kLanes));
        continue;
      }
      end_codes(t.end, sums + v * kLanes, V * kLanes, pixels, v * kLanes, t.y, at);
    }
  }
}

[[maybe_unused]] void dense(const ConvInt8Task& t) {
  t.narrow ? int8_panel<1, int8_tile_for<1>>(t) : int8_panel<kVectors, int8_tile_for<kVectors>>(t);
}

// Outputs of a depthwise tile: as many as sums fit beside the weights.
constexpr int kDepthwisePixels = kDepthwiseInt8Pixels;

// The sums of the output that `pixel` begins and those behind it, P of them, in one vector of channels. A
// word holds taps that lie side by side, so that nothing is turned or widened here (taps_to_words).
template <int P>
inline __attribute__((always_inline)) void window_of(const DepthwiseInt8Task& t, const uint32_t* pixel,
                                                     int lane, int32_t* sums) {
  vu acc[P];
#pragma GCC unroll 8
  for (int i = 0; i < P; ++i) acc[i] = load_words(t.start + lane);
  const uint32_t* weights = t.weights + lane;
  for (int64_t r = 0; r < t.kh; ++r) {
    const uint32_t* x = pixel + r * t.x_row + lane;
    for (int64_t c = 0; c < t.words; ++c, weights += kBlock, x += t.x_word) {
      const vu w = load_words(weights);
#pragma GCC unroll 8
      for (int i = 0; i < P; ++i) acc[i] = words(acc[i], load_words(x + i * t.x_step), w);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < P; ++i) store_words(sums + i * kLanes, acc[i]);
}

// The last tile makes outputs behind the row that nobody stores: eight at once are as long as two one by one.
void depthwise(const DepthwiseInt8Task& t) {
  int32_t sums[kDepthwisePixels * kLanes];
  for (int64_t row = 0; row < t.rows; ++row)
    for (int64_t at = 0; at < t.pixels; at += kDepthwisePixels) {
      const int64_t left = t.pixels - at;
      const int64_t pixels = left < kDepthwisePixels ? left : kDepthwisePixels;
      const uint32_t* const x = t.x + row * t.x_next + at * t.x_step;
      for (int lane = 0; lane < kBlock; lane += kLanes) {
        pixels > kDepthwisePixels / 2 ? window_of<kDepthwisePixels>(t, x, lane, sums)
                                      : window_of<kDepthwisePixels / 2>(t, x, lane, sums);
        const int64_t to = (row * t.pixels + at) * kBlock + lane;
        if (t.sums) {
          for (int64_t i = 0; i < pixels; ++i)
            store_ints(t.sums + to + i * kBlock, load_ints(sums + i * kLanes));
          continue;
        }
        end_codes(t.end, sums, kLanes, pixels, lane, t.y, to);
      }
    }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
