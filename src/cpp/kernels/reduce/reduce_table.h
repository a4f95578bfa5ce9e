// What reduce_simd.cc exports per instruction set.
#pragma once

#include <cstdint>

namespace walle::kernels {

// Sums run in this many lanes, element i in lane i % 16, and the lanes are added in halves. So a sum has the
// same bits on every instruction set and in the reference: one vector of AVX-512, two of AVX2, four of SSE.
inline constexpr int64_t kSumLanes = 16;
// Elements of a row that are added up in float: 128 additions a lane, so that the rounding error stays small
// however long the row is. Blocks are added in double.
inline constexpr int64_t kSumBlock = 128 * kSumLanes;

struct ReduceTable {
  // y[r] = the sum of row r; rows of n elements lie behind one another.
  void (*row_sums)(const float* x, float* y, int64_t rows, int64_t n);
  // Of n >= 1; NaN where the row has one.
  void (*row_maxima)(const float* x, float* y, int64_t rows, int64_t n);
  void (*row_minima)(const float* x, float* y, int64_t rows, int64_t n);
};

}  // namespace walle::kernels
