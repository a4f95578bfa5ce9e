// Winograd's minimal filtering F(2 x 2, 3 x 3) of codes (Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2016), exact: 16 products where the sums of four outputs have 36. Only conv_int8_simd.cc
// includes this, behind its tiles.
//
// The transform of an image adds four of its numbers: 4 * 255 at most, which is an int16. That of a window
// has quarters; four times it is whole, 9 * 255 at most (conv_int8_pack.cc). What comes back is four times
// the sums, modulo 2^32 on the way, and within 2^31 for the channels that conv_int8.cc lets through.
#pragma once

#include "kernels/conv_int8/conv_int8_tile.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

constexpr int kPoints = 16;

typedef int16_t vpixel __attribute__((vector_size(32)));
typedef int16_t vpixel_any __attribute__((vector_size(32), aligned(2), may_alias));

// Along one side: (a - c, b + c, c - b, b - d).
template <class V>
inline __attribute__((always_inline)) void to_points(V& a, V& b, V& c, V& d) {
  const V second = b;
  a = a - c;
  b = b + c;
  c = c - second;
  d = second - d;
}

// Tiles of one block of channels, to their 16 points.
void image_to_points(const WinogradInt8Task& t) {
  const int64_t tile_words = t.blocks * kBlock / 2, point_words = t.tiles * tile_words;
  for (int64_t block = 0; block < t.blocks; ++block)
    for (int64_t i = 0; i < t.tiles; ++i) {
      const int64_t down = (t.first + i) / t.across, right = (t.first + i) % t.across;
      const uint32_t* x = t.x + block * t.x_block + 2 * down * t.x_row + right * kBlock;
      vpixel d[4][4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r, x += t.x_row) {
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) d[r][c] = *reinterpret_cast<const vpixel_any*>(x + c * kBlock / 2);
        to_points(d[r][0], d[r][1], d[r][2], d[r][3]);
      }
      uint32_t* out = t.points + i * tile_words + block * kBlock / 2;
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) to_points(d[0][c], d[1][c], d[2][c], d[3][c]);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c, out += point_words) *reinterpret_cast<vpixel_any*>(out) = d[r][c];
    }
}

// Products of all tiles at each point: [point][tile][vector].
template <int V>
void multiply_points(const WinogradInt8Task& t) {
  static constexpr int32_t kNothing[kNr] = {};
  static constexpr int64_t kHere = 0;
  const int64_t words = t.blocks * kBlock / 2;
  const int64_t count = (t.tiles + kMr - 1) / kMr;
  ConvInt8Task product{.x = t.points,
                       .x_step = words,
                       .blocks = 1,
                       .words = words,
                       .tap = &kHere,
                       .taps = 1,
                       .weights = t.weights,
                       .start = kNothing};
  int32_t* out = t.products;
  for (int point = 0; point < kPoints; ++point, out += t.tiles * V * kLanes) {
    for (int64_t n = 0; n < count; ++n) {
      const int64_t from = t.tiles * n / count, to = t.tiles * (n + 1) / count;
      int8_tile_for<V>(to - from)(product, from, out + from * V * kLanes);
    }
    product.x += t.tiles * words;
    product.weights += words * kNr;
  }
}

// The four outputs of a tile: rows of two.
inline void from_points(const int32_t* product, int64_t step, vi start, int32_t* first, int32_t* second) {
  vi rows[2][4];
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const auto at = [&](int r) { return load_ints(product + (4 * r + c) * step); };
    const vi b = at(1), both = at(2);
    rows[0][c] = at(0) + b + both;
    rows[1][c] = b - both - at(3);
  }
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r) {
    int32_t* const to = r == 0 ? first : second;
    const vi b = rows[r][1], c = rows[r][2];
    store_ints(to, ((rows[r][0] + b + c) >> 2) + start);
    store_ints(to + kLanes, ((b - c - rows[r][3]) >> 2) + start);
  }
}

template <int V>
void points_to_codes(const WinogradInt8Task& t) {
  constexpr int64_t kRun = 8;  // tiles side by side
  int32_t sums[2][2 * kRun * kLanes];
  for (int64_t i = 0; i < t.tiles;) {
    const int64_t down = (t.first + i) / t.across, right = (t.first + i) % t.across;
    int64_t run = t.across - right < kRun ? t.across - right : kRun;
    if (run > t.tiles - i) run = t.tiles - i;
    const int64_t left = t.columns - 2 * right, pixels = left < 2 * run ? left : 2 * run;
    for (int v = 0; v < V; ++v) {
      const vi start = load_ints(t.start + v * kLanes);
      for (int64_t q = 0; q < run; ++q)
        from_points(t.products + ((i + q) * V + v) * kLanes, t.tiles * V * kLanes, start,
                    sums[0] + 2 * q * kLanes, sums[1] + 2 * q * kLanes);
      for (int64_t r = 0; r < 2 && 2 * down + r < t.rows; ++r) {
        const int64_t at = ((2 * down + r) * t.columns + 2 * right) * kBlock + v * t.y_vector;
        if (t.sums)
          for (int64_t p = 0; p < pixels; ++p)
            store_ints(t.sums + at + p * kBlock, load_ints(sums[r] + p * kLanes));
        else
          end_codes(t.end, sums[r], kLanes, pixels, v * kLanes, t.y, at);
      }
    }
    i += run;
  }
}

void winograd_panel(const WinogradInt8Task& t) {
  if (t.narrow) {
    multiply_points<1>(t);
    points_to_codes<1>(t);
  } else {
    multiply_points<kVectors>(t);
    points_to_codes<kVectors>(t);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
