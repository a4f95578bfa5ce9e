// Packing for the product of 16-bit numbers, for a file that has defined in_order, in_panel and pair_of
// (simd/bfloat.h, simd/float16.h, or what stands for them in tests).
#pragma once

#include "kernels/gemm_bf16/bf16_table.h"
#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

void pack_a(const float* a, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k, int64_t a_chain,
            uint32_t* out) {
  for (int64_t l0 = 0; l0 < k; l0 += 2 * kBf16Chain, out += a_chain) {
    const int64_t depth = k - l0 < 2 * kBf16Chain ? k - l0 : 2 * kBf16Chain;
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = a + i * row_stride + l0 * col_stride;
      uint32_t* to = out + i * kBf16Row;
      int64_t l = 0;
      if (col_stride == 1) {
        for (; l + 2 * kLanes <= depth; l += 2 * kLanes)
          store_words(to + l / 2, in_order(load(from + l), load(from + l + kLanes)));
        if (l < depth) {  // the row has room for whole vectors
          const int64_t left = depth - l;
          const vf low = load_n(from + l, left < kLanes ? left : kLanes);
          store_words(to + l / 2,
                      in_order(low, left > kLanes ? load_n(from + l + kLanes, left - kLanes) : vf{}));
        }
        continue;
      }
      for (; l + 1 < depth; l += 2) to[l / 2] = pair_of(from[l * col_stride], from[(l + 1) * col_stride]);
      if (l < depth) to[l / 2] = pair_of(from[l * col_stride], 0);
    }
  }
}

// Two rows of B, of which the second may be missing, side by side in panels.
void pack_rows(const float* even, const float* odd, int64_t cols, int64_t panel, uint32_t* out) {
  for (int64_t j0 = 0; j0 < cols; j0 += kNr, out += panel)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t j = j0 + v * kLanes;
      const int64_t left = cols - j;
      if (left >= kLanes) {
        store_words(out + v * kLanes, in_panel(load(even + j), odd ? load(odd + j) : vf{}));
      } else {
        const int64_t lanes = left < 0 ? 0 : left;
        store_words(out + v * kLanes,
                    lanes ? in_panel(load_n(even + j, lanes), odd ? load_n(odd + j, lanes) : vf{}) : vu{});
      }
    }
}

void pack_b(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t cols, int64_t panel,
            uint32_t* out) {
  for (int64_t l = 0; l < k; l += 2, out += kNr) {
    const float* even = b + l * row_stride;
    const bool both = l + 1 < k;
    if (col_stride == 1) {
      pack_rows(even, both ? even + row_stride : nullptr, cols, panel, out);
      continue;
    }
    for (int64_t j0 = 0; j0 < cols; j0 += kNr) {
      float rows[2][kNr] = {};
      for (int64_t j = j0; j < j0 + kNr && j < cols; ++j) {
        rows[0][j - j0] = even[j * col_stride];
        if (both) rows[1][j - j0] = even[j * col_stride + row_stride];
      }
      pack_rows(rows[0], rows[1], kNr, panel, out + j0 / kNr * panel);
    }
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
