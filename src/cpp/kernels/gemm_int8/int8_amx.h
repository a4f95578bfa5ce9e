// The exact 8-bit product by tiles of 32 rows and 32 columns, for a file that has included the tiles of
// kernels/simd/byte_tiles.h, or what stands for them in tests.
//
// B lies as for quads, with words of zeros up to a whole tile of k. A lies tile by tile: word (i, s) of a
// panel at panel[s / 16 * 512 + i * 16 + s % 16], so that a tile is read line after line; behind them the
// sums and the zero points of its 32 rows. Rows that A lacks are written by nobody and read by no tile.
#pragma once

#include "kernels/gemm_int8/int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kNr == 2 * kLanes && !kSignedQuads);
constexpr int64_t kAmxRows = 2 * kTileRows;
constexpr int64_t kAmxTile = kAmxRows * kTileWords;  // words of a panel of A in one step of tiles

// Words of A as they lie, at any address.
typedef uint32_t vu_bytes __attribute__((vector_size(kLanes * 4), aligned(1), may_alias));

constexpr int64_t amx_steps(int64_t k) { return ((k + 3) / 4 + kTileWords - 1) / kTileWords * kTileWords; }

void pack_a_amx(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out) {
  const uint32_t flip = flips_a(a) ? kFlipped : 0;
  const int64_t steps = amx_steps(k);
  uint32_t* const sums = out + steps * kAmxRows;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t* p = a.data + i * a.row_stride;
    uint32_t* to = out + i * kTileWords;
    int64_t s = 0;
    if (a.col_stride == 1)
      for (; 4 * (s + kTileWords) <= k; s += kTileWords, to += kAmxTile)
        for (int64_t q = 0; q < kTileWords; q += kLanes)
          store_words(to + q, *reinterpret_cast<const vu_bytes*>(p + 4 * (s + q)) ^ splat_word(flip));
    for (; s < steps; s += kTileWords, to += kAmxTile)
      for (int64_t q = 0; q < kTileWords; ++q) {
        const int64_t l = 4 * (s + q);
        to[q] = l < k ? quad_of(p + l * a.col_stride, a.col_stride, k - l, flip) : 0;
      }
    sums[i] = sum_of_row(p, a.col_stride, k, flips_a(a));
    sums[kAmxRows + i] = zero_of_a(a, i);
  }
}

void pack_b_amx(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out) {
  const uint32_t flip = flips_b(b) ? kFlipped : 0;
  uint32_t sum[kNr] = {};
  for (int64_t s = 0; s < amx_steps(k); ++s, out += kNr) {
    const int64_t left = k - 4 * s;
    const uint8_t* p = b.data + 4 * s * b.row_stride;
    for (int64_t j = 0; j < kNr; ++j) {
      const bool there = j < cols && left > 0;
      out[j] = there ? quad_of(p + j * b.col_stride, b.row_stride, left, flip) : 0;
      if (there) sum[j] += sum_of_word(out[j], left < 4 ? left : 4);
    }
  }
  put_sums_of_b(b, k, cols, sum, out);
}

// Rows of C from the sums of their tiles: what zero points make of sums, or the old C.
void end_amx(const Int8Block& t, const uint32_t* tile, const uint32_t* row_sums, int64_t rows, int32_t* c) {
  for (int64_t i = 0; i < rows; ++i, tile += kNr, c += t.c_row) {
    uint32_t row[kNr];
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      vu sum = load_words(tile + v * kLanes);
      if (t.first && row_sums)
        sum -= splat_word(row_sums[kAmxRows + i]) * load_words(t.b_sums + v * kLanes) +
               splat_word(row_sums[i]) * load_words(t.b_sums + kNr + v * kLanes);
      if (t.cols == kNr)
        store_words(c + v * kLanes, t.first ? sum : sum + load_words(c + v * kLanes));
      else
        store_words(row + v * kLanes, sum);
    }
    if (t.cols < kNr) store_edge(t, row, c);
  }
}

template <bool kBoth>
void amx_sums(const Int8Block& t, const uint32_t* a, uint32_t* sums) {
  clear_tiles<kBoth>();
  for (int64_t s = 0; s < t.steps; s += kTileWords, a += kAmxTile)
    multiply_tiles<kBoth>(a, kTileWords, t.b + s * kNr, kNr);
  in_memory();
  store_tiles<kBoth>(sums, kNr);
  in_memory();
}

void block_amx(const Int8Block& t) {
  alignas(64) uint32_t sums[kAmxRows * kNr];
  int64_t before = 0;
  for (int64_t i = 0; i < t.rows; i += kAmxRows) {
    const int64_t rows = t.rows - i < kAmxRows ? t.rows - i : kAmxRows;
    if (rows != before)
      configure_tiles(rows < kTileRows ? rows : kTileRows, rows > kTileRows ? rows - kTileRows : 0,
                      kTileWords);
    before = rows;
    const int64_t panel = i / kAmxRows * t.a_panel;
    (rows > kTileRows ? amx_sums<true> : amx_sums<false>)(t, t.a + panel, sums);
    end_amx(t, sums, t.a_sums ? t.a_sums + panel : nullptr, rows, t.c + i * t.c_row);
  }
  release_tiles();
}

constexpr Int8Table kAmxTable = {.mr = kAmxRows,
                                 .nr = kNr,
                                 .step = 4,
                                 .words = kTileWords,
                                 .sums = 2,
                                 .block = block_amx,
                                 .pack_a = pack_a_amx,
                                 .pack_b = pack_b_amx};

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
