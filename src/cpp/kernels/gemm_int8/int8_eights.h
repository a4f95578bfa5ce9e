// Packing and tiles for eights (int8_table.h), for a file that has defined `eights`, or what stands for it in
// tests: two rows by two columns lie in a vector while they are summed.
//
// Of 12 rows by 8 columns 37 instructions, 24 of them usmmla, multiply 768 times: 0.14 of what float32 takes.
// By llvm-mca 19 a Neoverse V1 is at 99 % of its four a cycle.
#pragma once

#include "kernels/gemm_int8/int8_quads.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

static_assert(kLanes == 4 && kMr % 2 == 0);
constexpr int kEightBytes = 8;
constexpr int kColumnPairs = kNr / 2;

void pack_a_eights(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out) {
  const uint32_t flip = flips_a(a) ? kFlipped : 0;
  uint32_t* const sums = out + (k + kEightBytes - 1) / kEightBytes * 2 * kMr;
  for (int64_t i = 0; i < kMr; ++i) {
    const uint8_t* p = a.data + i * a.row_stride;
    uint32_t* to = out + 2 * i;
    for (int64_t l = 0; l < k; l += kEightBytes, to += 2 * kMr)
      for (int64_t h = 0; h < 2; ++h) {
        const int64_t at = l + 4 * h;
        to[h] = i < rows && at < k ? quad_of(p + at * a.col_stride, a.col_stride, k - at, flip) : 0;
      }
    put_sums_of_a(a, rows, k, i, sums);
  }
}

void pack_b_eights(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out) {
  const uint32_t flip = flips_b(b) ? kFlipped : 0;
  uint32_t sum[kNr] = {};
  for (int64_t l = 0; l < k; l += kEightBytes, out += 2 * kNr)
    for (int64_t j = 0; j < kNr; ++j)
      for (int64_t h = 0; h < 2; ++h) {
        const int64_t at = l + 4 * h, left = k - at;
        const uint8_t* p = b.data + at * b.row_stride + j * b.col_stride;
        const uint32_t word = j < cols && left > 0 ? quad_of(p, b.row_stride, left, flip) : 0;
        out[2 * j + h] = word;
        sum[j] += sum_of_word(word, left < 4 ? left : 4);
      }
  put_sums_of_b(b, k, cols, sum, out);
}

// The first or the second row of two columns here and two there.
inline vu first_row(vu here, vu there) { return __builtin_shufflevector(here, there, 0, 1, 4, 5); }
inline vu second_row(vu here, vu there) { return __builtin_shufflevector(here, there, 2, 3, 6, 7); }

// P pairs of rows, of which C has `rows`.
template <int P>
void eights_tile(const Int8Block& t, const uint32_t* a, const uint32_t* row_sums, int64_t rows, int32_t* c) {
  vu acc[P][kColumnPairs] = {};
  const uint32_t* b = t.b;
  for (int64_t s = 0; s < t.steps; s += 2, a += 2 * kMr, b += 2 * kNr) {
    vu bv[kColumnPairs];
#pragma GCC unroll 4
    for (int j = 0; j < kColumnPairs; ++j) bv[j] = load_words(b + j * kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < P; ++i) {
      const vu two = load_words(a + i * kLanes);
#pragma GCC unroll 4
      for (int j = 0; j < kColumnPairs; ++j) acc[i][j] = eights(acc[i][j], two, bv[j]);
    }
  }
  vu sums[2 * P][1][2];
#pragma GCC unroll 6
  for (int i = 0; i < P; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      sums[2 * i][0][v] = first_row(acc[i][2 * v], acc[i][2 * v + 1]);
      sums[2 * i + 1][0][v] = second_row(acc[i][2 * v], acc[i][2 * v + 1]);
    }
  for (int64_t i = 0; i < rows; ++i) {
    begin(sums[i], t, row_sums ? row_sums + i : nullptr);
    end(sums[i], t, c + i * t.c_row);
  }
}

void block_eights(const Int8Block& t) {
  for (int64_t i = 0; i < t.rows; i += kMr) {
    const int64_t panel = i / kMr * t.a_panel;
    const uint32_t* const sums = t.a_sums ? t.a_sums + panel : nullptr;
    const int64_t rows = t.rows - i < kMr ? t.rows - i : kMr;
    int64_t r = 0;
    // One pair at a time is a third of the loads' worth: two where there are two.
    const auto next = [&](auto tile, int64_t most) {
      const int64_t count = rows - r < most ? rows - r : most;
      tile(t, t.a + panel + 2 * r, sums ? sums + r : nullptr, count, t.c + (i + r) * t.c_row);
      r += count;
    };
    if (rows > kMr - 2) next(eights_tile<kMr / 2>, kMr);
    while (rows - r > 2) next(eights_tile<2>, 4);
    if (r < rows) next(eights_tile<1>, 2);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
