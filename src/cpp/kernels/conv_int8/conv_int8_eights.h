// Dense tiles of the convolution of codes by eights, for a file that has defined `eights` and `two_of_each`,
// or what stands for them in tests: two pixels by two output channels lie in a vector while they are summed.
//
// Pixels are loaded in halves of a register: 48 instructions for 24 usmmla, 0.18 of what float32 takes, and
// 79 % of a Neoverse V1's four a cycle by llvm-mca 19.
#pragma once

#include "kernels/conv_int8/conv_int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kLanes == 4 && kMr % 2 == 0);

// Sums of M pixels from number `first` on, as int8_tile makes them. The last one of an odd number is its own
// neighbour.
template <int M, int V>
void eights_tile(const ConvInt8Task& t, int64_t first, int32_t* sums) {
  constexpr int kPairs = (M + 1) / 2, kColumns = V * kLanes / 2;
  vu acc[kPairs][kColumns] = {};
  const int64_t step = t.x_step;
  const uint32_t* b = t.weights;
  for (int64_t k = 0; k < t.taps; ++k) {
    const uint32_t* x = t.x + first * step + t.tap[k];
    for (int64_t block = 0; block < t.blocks; ++block, x += t.x_block) {
      const uint32_t* p = x;
      for (int64_t q = 0; q < t.words; q += 2, p += 2, b += 2 * kNr) {
        vu bv[kColumns];
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) bv[j] = load_words(b + j * kLanes);
#pragma GCC unroll 6
        for (int i = 0; i < kPairs; ++i) {
          const int other = 2 * i + 1 < M ? 2 * i + 1 : 2 * i;
          const vu two = two_of_each(p + 2 * i * step, p + other * step);
#pragma GCC unroll 4
          for (int j = 0; j < kColumns; ++j) acc[i][j] = eights(acc[i][j], two, bv[j]);
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const vu start = load_words(t.start + v * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i) {
      const vu here = acc[i / 2][2 * v], there = acc[i / 2][2 * v + 1];
      const vu row = i % 2 ? __builtin_shufflevector(here, there, 2, 3, 6, 7)
                           : __builtin_shufflevector(here, there, 0, 1, 4, 5);
      store_words(sums + (i * V + v) * kLanes, start + row);
    }
  }
}

template <int V>
inline Int8Tile eights_tile_for(int64_t pixels) {
  static constexpr Int8Tile tiles[] = {WALLE_TILES(eights_tile, V)};
  return tiles[pixels - 1];
}

void dense_eights(const ConvInt8Task& t) {
  t.narrow ? int8_panel<1, eights_tile_for<1>>(t) : int8_panel<kVectors, eights_tile_for<kVectors>>(t);
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
