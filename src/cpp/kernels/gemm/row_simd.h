// One row by a plain B of float32 or of 16 bits (kernels/simd/halves.h): the same sums of either.
#pragma once

#include "kernels/gemm/gemm_table.h"
#include "kernels/simd/halves.h"
#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// Steps of k that one accumulator sums at most; then it is added to a sum and starts from zero. A running sum
// of k terms is off by about sqrt(k / 2) roundings, sums of sums of s terms by sqrt(s / 2 + k / 2 s): with
// 2304 steps 34 and 12, which is 3.8 and 1.3 times what the peers' blocks of 128 or 144 make. 128 steps would
// be off by 8.5, for twice as many exits.
constexpr int64_t kChain = 256;

// Rows of B that pass over C together: eight streams and their sums fit the registers, and eight lines of one
// set fit the first-level cache (rows of 4 KiB: 16 take twice as long).
constexpr int kTogether = 8;

// Short vectors go by lines of the cache, so that each is asked for once and loads come in pairs: 1 x 1024 x
// 1024 begins 0.76 million instructions for 1.14 (Cortex-A76). Sums as in add_rows.
constexpr int64_t kLine = 16;

template <int U, bool kAhead, class B>
inline __attribute__((always_inline)) void add_lines(const vf (&a)[U], const B* b, int64_t b_row, int64_t& j,
                                                     int64_t cols, float* __restrict c) {
  constexpr int kParts = kLine / kLanes;
  for (; j + kLine <= cols; j += kLine) {
    vf even[kParts] = {};
    vf odd[kParts] = {};
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) {
      const B* row = b + u * b_row + j;
      if (kAhead) __builtin_prefetch(row + U * b_row, 0, 2);
      vf line[kParts];
#pragma GCC unroll 4
      for (int v = 0; v < kParts; ++v) line[v] = load(row + v * kLanes);
#pragma GCC unroll 4
      for (int v = 0; v < kParts; ++v) (u % 2 ? odd : even)[v] += a[u] * line[v];
    }
    vf sums[kParts];
#pragma GCC unroll 4
    for (int v = 0; v < kParts; ++v) sums[v] = load(c + j + v * kLanes) + (even[v] + odd[v]);
#pragma GCC unroll 4
    for (int v = 0; v < kParts; ++v) store(c + j + v * kLanes, sums[v]);
  }
}

template <int U, bool kAhead, class B>
void add_rows(const GemmBlock& t, const B* rows, int64_t l, float* __restrict c) {
  const int64_t cols = t.cols;
  vf a[U];
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) a[u] = splat(t.a[l + u]);
  const B* b = rows + l * t.b_row;
  int64_t j = 0;
  if constexpr (kByLane) add_lines<U, kAhead>(a, b, t.b_row, j, cols, c);
  for (; j + kLanes <= cols; j += kLanes) {
    vf even = {};
    vf odd = {};
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) {
      // The rows that follow: the processor's own prefetching ends with each page, and rows are about as
      // long.
      if (kAhead) __builtin_prefetch(b + (U + u) * t.b_row + j, 0, 2);
      (u % 2 ? odd : even) += a[u] * load(b + u * t.b_row + j);
    }
    // Not from C on: it is rounded once for all rows.
    store(c + j, load(c + j) + (even + odd));
  }
  // Summed as the lanes are: equal columns give equal results wherever they stand (a softmax over logits of
  // 1e5 shows the last bit).
  for (; j < cols; ++j) {
    float even = 0;
    float odd = 0;
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) (u % 2 ? odd : even) += t.a[l + u] * one(b + u * t.b_row + j);
    c[j] += even + odd;
  }
}

// Columns whose sums stay in the first-level cache from one group of rows to the next.
constexpr int64_t kRowColumns = 4096;
// Rows of B whose sums join before the next ones begin: kChain additions of kTogether products each.
constexpr int64_t kRowSection = kChain * kTogether;

// c += the rows [from, to) of B, each times its element of A.
template <class B>
void add_section(const GemmBlock& t, const B* b, int64_t from, int64_t to, float* c) {
  int64_t l = from;
  for (; l + kTogether <= to; l += kTogether) {
    // A B of 16 bits is read so where it is large, and 2 KB of code a set are saved.
    if (sizeof(B) < sizeof(float) || t.b_next != 0)
      add_rows<kTogether, true>(t, b, l, c);
    else if constexpr (sizeof(B) == sizeof(float))
      add_rows<kTogether, false>(t, b, l, c);
  }
  for (; l < to; ++l) add_rows<1, false>(t, b, l, c);
}

// A product of one row takes as long as reading B, so B is read as it lies, in long pieces. Tile by tile,
// with a call for every 16 x 32 elements, 1 x 1024 x 1000 took 91 us with weights from the outer cache and
// 479 us from memory; like this 53 and 178 (Zen 4).
template <class B>
void row_piece(const GemmBlock& t, const B* b) {
  const Epilogue& e = t.epilogue;
  for (int64_t j = 0; j < t.cols; ++j) t.c[j] = e.col_bias ? e.col_bias[j] : e.row_bias ? *e.row_bias : 0;
  const int64_t first = t.k < kRowSection ? t.k : kRowSection;
  add_section(t, b, 0, first, t.c);
  float part[kRowColumns];
  for (int64_t l = first; l < t.k; l += kRowSection) {
    memset(part, 0, static_cast<unsigned long>(t.cols) * sizeof(float));
    add_section(t, b, l, t.k - l < kRowSection ? t.k : l + kRowSection, part);
    for (int64_t j = 0; j < t.cols; ++j) t.c[j] += part[j];
  }
  if (e.residual)
    for (int64_t j = 0; j < t.cols; ++j) t.c[j] += e.residual[j];
}

// All but the activation, whose functions are 4 KB of code.
template <class B>
void row_by_plain_b(const GemmBlock& whole, const B* b) {
  for (int64_t j = 0; j < whole.cols; j += kRowColumns) {
    GemmBlock t = whole;
    t.cols = whole.cols - j < kRowColumns ? whole.cols - j : kRowColumns;
    t.c += j;
    if (t.epilogue.col_bias) t.epilogue.col_bias += j;
    if (t.epilogue.residual) t.epilogue.residual += j;
    row_piece(t, b + j);
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
