// Register tiles of the exact 8-bit product, for a file that has defined `words`: acc + the product of the
// words of each lane. mr x 2 vectors of int32 stay in registers over the whole depth.
//
// As many as in gemm_simd.cc.
#pragma once

#include "kernels/gemm_int8/int8_table.h"
#include "kernels/word_steps.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Chains of sums of a single row: a product takes 4 to 5 cycles until it can be added to.
constexpr int kChains = 4;

// What the zero points make of a row's and a column's sums; rows of one panel lie side by side.
template <int M>
inline __attribute__((always_inline)) void begin(vu (&acc)[M][2], const Int8Block& t,
                                                 const uint32_t* row_sums) {
  if (!t.first || !row_sums) return;
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i) {
    const vu sum = splat_word(row_sums[i]);
    const vu zero = splat_word(row_sums[kMr + i]);
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      acc[i][v] -= zero * load_words(t.b_sums + v * kLanes) + sum * load_words(t.b_sums + kNr + v * kLanes);
  }
}

// The right edge of C, which has no slack behind its rows.
__attribute__((noinline)) void store_edge(const Int8Block& t, const uint32_t* row, int32_t* c) {
  for (int64_t j = 0; j < t.cols; ++j)
    c[j] = static_cast<int32_t>(row[j] + (t.first ? 0 : static_cast<uint32_t>(c[j])));
}

template <int M>
inline __attribute__((always_inline)) void end(vu (&acc)[M][2], const Int8Block& t, int32_t* c) {
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i, c += t.c_row) {
    if (t.cols == kNr) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        store_words(c + v * kLanes, t.first ? acc[i][v] : acc[i][v] + load_words(c + v * kLanes));
      continue;
    }
    uint32_t row[kNr];
    store_words(row, acc[i][0]);
    store_words(row + kLanes, acc[i][1]);
    store_edge(t, row, c);
  }
}

template <int M>
inline __attribute__((always_inline)) void tile(const Int8Block& t, const uint32_t* a,
                                                const uint32_t* row_sums, int32_t* c) {
  vu acc[M][2] = {};
  begin(acc, t, row_sums);
  const uint32_t* b = t.b;
  for (int64_t s = 0; s < t.steps; ++s, a += kMr, b += kNr) {
    if constexpr (kWordsByLane) {
      multiply_words_beside(acc, a, b);
    } else {
      const vu b0 = load_words(b);
      const vu b1 = load_words(b + kLanes);
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) {
        const vu word = splat_word(a[i]);
        acc[i][0] = words(acc[i][0], word, b0);
        acc[i][1] = words(acc[i][1], word, b1);
      }
    }
  }
  end(acc, t, c);
}

// One row, in chains of sums.
inline void row(const Int8Block& t, const uint32_t* a, const uint32_t* row_sums, int32_t* c) {
  vu acc[1][2] = {};
  begin(acc, t, row_sums);
  vu more[kChains][2] = {};
  const uint32_t* b = t.b;
  int64_t s = 0;
  for (; s + kChains <= t.steps; s += kChains, a += kChains * kMr, b += kChains * kNr)
#pragma GCC unroll 4
    for (int q = 0; q < kChains; ++q) {
      const vu word = splat_word(a[q * kMr]);
      more[q][0] = words(more[q][0], word, load_words(b + q * kNr));
      more[q][1] = words(more[q][1], word, load_words(b + q * kNr + kLanes));
    }
  for (; s < t.steps; ++s, a += kMr, b += kNr) {
    acc[0][0] = words(acc[0][0], splat_word(*a), load_words(b));
    acc[0][1] = words(acc[0][1], splat_word(*a), load_words(b + kLanes));
  }
  for (int v = 0; v < 2; ++v) acc[0][v] += (more[0][v] + more[1][v]) + (more[2][v] + more[3][v]);
  end(acc, t, c);
}

[[maybe_unused]] void block(const Int8Block& t) {
  for (int64_t i = 0; i < t.rows; i += kMr) {
    const int64_t panel = i / kMr * t.a_panel;
    const uint32_t* a = t.a + panel;
    const uint32_t* sums = t.a_sums ? t.a_sums + panel : nullptr;
    int32_t* c = t.c + i * t.c_row;
    const int64_t rows = t.rows - i < kMr ? t.rows - i : kMr;
    int64_t r = 0;
    if (rows == kMr) {
      tile<kMr>(t, a, sums, c);
      continue;
    }
    for (; r + 4 <= rows; r += 4) tile<4>(t, a + r, sums ? sums + r : nullptr, c + r * t.c_row);
    for (; r < rows; ++r) row(t, a + r, sums ? sums + r : nullptr, c + r * t.c_row);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
