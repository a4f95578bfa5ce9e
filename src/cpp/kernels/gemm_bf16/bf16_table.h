// What a form of the product in bfloat16, or in float16, exports. Plain data and function pointers: shared by
// files of different flags.
//
// Operands are packed as words of two bfloat16, each two steps of k (kernels/simd/bfloat.h); behind an odd k
// stands a zero.
#pragma once

#include "kernels/activation.h"

namespace walle::kernels {

// Words of k that one accumulator sums; then it is added to a sum and starts from zero, as in gemm_simd.cc.
inline constexpr int64_t kBf16Chain = 256;
// From one row of A to the next within a chain. A constant of the code, so that a tile reads its rows behind
// one pointer without being transposed; a line more than the chain, so that rows do not share a cache set.
inline constexpr int64_t kBf16Row = kBf16Chain + 16;

// A block of C (rows x cols) += A B. A: word (i, s) of chain q at a[q * a_chain + i * kBf16Row + s]. B: one
// panel of nr columns, word (s, j) at b[s * nr + j] throughout; of a single row any number of panels, which
// are b_panel words apart.
struct Bf16Block {
  int64_t rows = 0, cols = 0;
  int64_t steps = 0;  // words of k; 0: C is what the epilogue makes of zero
  const uint32_t* a = nullptr;
  int64_t a_chain = 0;
  const uint32_t* b = nullptr;
  int64_t b_panel = 0;
  const uint32_t* ahead = nullptr;  // as many words will be wanted next; null: not known
  float* c = nullptr;
  int64_t c_row = 0;
  bool first = true;  // C starts from the bias instead of its present value
  bool last = true;   // residual and activation are applied
  Epilogue epilogue;  // pointers already moved to this block
};

struct Bf16Table {
  int mr = 0, nr = 0;
  int fewest = 1;  // rows of A for which it is faster than the form that it stands beside
  void (*block)(const Bf16Block& block);
  // rows x k of A to chains that are `a_chain` words apart.
  void (*pack_a)(const float* a, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k,
                 int64_t a_chain, uint32_t* out);
  // k x cols of B to ceil(cols / nr) panels that are `panel` words apart; columns that B lacks are zeros.
  void (*pack_b)(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t cols,
                 int64_t panel, uint32_t* out);
};

}  // namespace walle::kernels
