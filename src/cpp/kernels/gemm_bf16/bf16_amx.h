// Blocks of the product in bfloat16 by tiles of 32 rows and 32 columns, for a file that has included the
// tiles of kernels/simd/bfloat_tiles.h, or what stands for them in tests, and bf16_tile.h.
//
// Operands lie as for register tiles: A by rows, B by panels of words, which is what tiles are read from.
// Words of k that fill no tile, and products of a row, are those of the register tiles.
#pragma once

#include "kernels/gemm_bf16/bf16_tile.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kNr == 2 * kLanes, "two tiles of columns");
constexpr int64_t kAmxRows = 2 * kTileRows;
// Below, tiles of registers read B as fast.
constexpr int kFewestAmxRows = 5;

template <bool kBoth>
void multiply_chain(const uint32_t* a, const uint32_t* b, int64_t words, Ahead& ahead, float* sums) {
  clear_tiles<kBoth>();
  for (int64_t s = 0; s < words; s += kTileWords) {
    multiply_tiles<kBoth>(a + s, kBf16Row, b + s * kNr, kNr);
    for (int64_t look = 0; look < kTileWords; look += kLook) ahead.look();
  }
  in_memory();
  store_tiles<kBoth>(sums, kNr);
  in_memory();
}

// Words [from, to) of a chain, on top of its sums.
void multiply_rest(const uint32_t* a, const uint32_t* b, int64_t from, int64_t to, int64_t rows,
                   float* sums) {
  for (int64_t i = 0; i < rows; ++i, a += kBf16Row, sums += kNr) {
    vf acc[2] = {load(sums), load(sums + kLanes)};
    for (int64_t s = from; s < to; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        acc[v] = products(acc[v], splat_word(a[s]), load_words(b + s * kNr + v * kLanes));
    store(sums, acc[0]);
    store(sums + kLanes, acc[1]);
  }
}

void amx_tile(const Bf16Block& t, const uint32_t* a, int64_t rows, Ahead& ahead, float* sums) {
  alignas(64) float later[kAmxRows * kNr];
  const uint32_t* b = t.b;
  int64_t left = t.steps;
  float* to = sums;
  do {  // once even for k = 0
    const int64_t chain = left < kBf16Chain ? left : kBf16Chain;
    const int64_t whole = chain / kTileWords * kTileWords;
    (rows > kTileRows ? multiply_chain<true> : multiply_chain<false>)(a, b, whole, ahead, to);
    if (whole < chain) multiply_rest(a, b, whole, chain, rows, to);
    if (to == later)
      for (int64_t i = 0; i < rows * kNr; i += kLanes) store(sums + i, load(sums + i) + load(later + i));
    to = later;
    left -= chain;
    a += t.a_chain;
    b += chain * kNr;
  } while (left > 0);
}

void amx_block(const Bf16Block& t) {
  if (t.rows < kFewestAmxRows) return block(t);
  alignas(64) float sums[kAmxRows * kNr];
  const int64_t count = (t.rows + kAmxRows - 1) / kAmxRows;
  Ahead ahead{t.ahead, t.ahead ? (kLook * kNr / kLineWords + count - 1) / count : 0};
  int64_t before = 0;
  for (int64_t row = 0; row < t.rows; row += kAmxRows) {
    const int64_t rows = t.rows - row < kAmxRows ? t.rows - row : kAmxRows;
    if (rows != before)
      configure_tiles(rows < kTileRows ? rows : kTileRows, rows > kTileRows ? rows - kTileRows : 0,
                      kTileWords);
    before = rows;
    fetch_c(t, row, rows);
    amx_tile(t, t.a + row * kBf16Row, rows, ahead, sums);
    finish(t, row, rows, sums);
  }
  release_tiles();
}

constexpr Bf16Table kAmxTable = {.mr = kAmxRows,
                                 .nr = kNr,
                                 .fewest = kFewestAmxRows,
                                 .block = amx_block,
                                 .pack_a = pack_a,
                                 .pack_b = pack_b};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
