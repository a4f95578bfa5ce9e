// Register tiles of the convolution in bfloat16, for a file that has defined the words of simd/bfloat.h:
// pixels are broadcast, output channels lie in lanes, as in blocked_dense_simd.h.
#pragma once

#include "kernels/conv/winograd_input_simd.h"
#include "kernels/conv_bf16/conv_bf16_words.h"
#if !defined(WALLE_ISA_AVX512)  // which has no such products
#include "kernels/square_steps.h"
#endif

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// acc[i] += the words at a[i * step] times those at b: two input channels.
template <int M, int V>
inline __attribute__((always_inline)) void multiply_words(vf (&acc)[M][V], const uint32_t* __restrict a,
                                                          int64_t step, const uint32_t* b) {
  vu bv[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) bv[v] = load_words(b + v * kLanes);
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu word = vu{} + a[i * step];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) acc[i][v] = products(acc[i][v], word, bv[v]);
  }
}

// As finish(), of images in bfloat16: what is added is exact, and rounded is the sum.
template <int M, int V>
inline __attribute__((always_inline)) void finish_bf16(const ConvBf16Task& t, vf (&acc)[M][V], int64_t at) {
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const int64_t from = at + v * t.y_vector;
    if (t.residual16) {
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) acc[i][v] += load(t.residual16 + from + i * t.y_step);
    }
    if (t.tail.activation == Activation::clamp) {
      const vf low = splat(t.tail.alpha), high = splat(t.tail.beta);
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) acc[i][v] = min_keep_nan(high, max_keep_nan(low, acc[i][v]));
    }
#pragma GCC unroll 14
    for (int i = 0; i < M; ++i) store(t.y16 + from + i * t.y_step, narrowed(acc[i][v]));
  }
}

// M pixels from number `first` on.
template <int M, int V>
void bf16_tile(const ConvBf16Task& t, int64_t first) {
  constexpr int64_t kChainWords = kDenseChain / 2;
  vf acc[M][V];
  start_at_bias(t, acc);
  if constexpr (kPairsOfRows) turn_pairs(acc);
  float sums[M * V * kLanes];
  bool first_chain = true;
  int64_t left = kChainWords;
  const uint32_t* b = t.weights;
  NextWords next(t, first, M);
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * t.x_step + t.tap[k];
    for (int64_t word = 0; word < t.words; x += t.x_block) {
      const uint32_t* p = x;
      const int64_t n = fewer(t.of_block, t.words - word);
      next.fetch();
      if constexpr (kPairsOfRows) {
        multiply_squares_along(acc, p, t.x_step, b, n);
      } else {
#pragma GCC unroll 2
        for (int64_t l = 0; l < n; ++l, ++p, b += kNr) multiply_words(acc, p, t.x_step, b);
      }
      word += n;
      left -= n;
      if (left > 0) continue;
      if constexpr (kPairsOfRows) turn_pairs(acc);
      end_chain(acc, sums, first_chain);
      first_chain = false;
      left = kChainWords;
    }
  }
  if constexpr (kPairsOfRows) turn_pairs(acc);
  if (!first_chain) add_chains(acc, sums);
  if constexpr (V > 1)
    if (t.y16) return finish_bf16(t, acc, first * t.y_step);
  finish(t, acc, first * t.y_step);
}

using Bf16Tile = void (*)(const ConvBf16Task&, int64_t);

template <int V>
Bf16Tile bf16_tile_for(int64_t pixels) {
  if constexpr (kMostPixels<V> == 8) {
    static constexpr Bf16Tile tiles[] = {WALLE_TILES_6(bf16_tile, V), bf16_tile<7, V>, bf16_tile<8, V>};
    static_assert(sizeof tiles / sizeof tiles[0] == 8);
    return tiles[pixels - 1];
  } else {
    static constexpr Bf16Tile tiles[] = {WALLE_TILES(bf16_tile, V)};
    static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
    return tiles[pixels - 1];
  }
}

template <int V>
void bf16_tiles(const ConvBf16Task& t) {
  equal_tiles<V, kMostPixels<V>>(t, bf16_tile_for<V>);
}

// Functions are of float32: results that they follow are rounded behind them, from a few tiles' room in the
// first-level cache. Narrow panels too, one at most of a convolution, so that their tiles have one end: 9 KB.
template <int V>
void floats_then_bf16(const ConvBf16Task& t, void (*tiles)(const ConvBf16Task&)) {
  constexpr int64_t kMost = kActivatedTiles * kMr;
  float staged[kMost * V * kLanes];
  for (int64_t first = 0; first < t.pixels; first += kMost) {
    const int64_t n = fewer(kMost, t.pixels - first);
    ConvBf16Task part = t;
    part.x += first * t.x_step;
    part.pixels = n;
    if (first + n < t.pixels) part.next = nullptr;
    part.y16 = nullptr;
    part.residual16 = nullptr;
    part.y = staged;
    part.y_step = kLanes;
    part.y_vector = n * kLanes;
    if (t.residual16) part.tail.residual = staged;
    const auto each = [&](auto fn) {
      for (int64_t v = 0; v < V; ++v)
        for (int64_t i = 0; i < n; ++i)
          fn(staged + (v * n + i) * kLanes, (first + i) * t.y_step + v * t.y_vector);
    };
    if (t.residual16) each([&](float* to, int64_t at) { store(to, load(t.residual16 + at)); });
    tiles(part);
    each([&](const float* from, int64_t at) { store(t.y16 + at, narrowed(load(from))); });
  }
}

template <int V>
void panel_of(const ConvBf16Task& t, void (*tiles)(const ConvBf16Task&)) {
  const bool staged = t.y16 && (V == 1 || t.tail.activation > Activation::clamp);
  staged ? floats_then_bf16<V>(t, tiles) : tiles(t);
}

void dense(const ConvBf16Task& t) {
  t.narrow ? panel_of<1>(t, bf16_tiles<1>) : panel_of<kVectors>(t, bf16_tiles<kVectors>);
}

void winograd_input(int unit, const WinogradInput& in, uint32_t* out) {
  const auto put = [](uint32_t* to, vf x) { store_words(to, in_order(x, vf{}), kLanes / 2); };
  if (unit == 2) input_tiles<1, kLanes / 2>(in, out, put);
  if (unit == 4) input_tiles<2, kLanes / 2>(in, out, put);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
