// What halves_simd.cc exports per instruction set. Plain data and function pointers: shared by files of
// different flags. Numbers of 16 bits lie at any address.
#pragma once

#include "kernels/gemm/gemm_table.h"

namespace walle::kernels {

// Of one of the two types.
struct HalfForm {
  void (*widen)(const uint16_t* x, float* y, int64_t n);
  // k rows of `cols` columns that lie `row_stride` apart to panels [k][nr] of GemmTable, one behind the
  // other, zero-padded.
  void (*fill)(const uint16_t* b, int64_t row_stride, int64_t k, int64_t cols, float* out);
  // GemmTable::row with such a B, rows block.b_row apart, without the activation.
  void (*row)(const GemmBlock& block, const uint16_t* b);
};

struct HalvesTable {
  HalfForm float16, bfloat16;
};

}  // namespace walle::kernels
