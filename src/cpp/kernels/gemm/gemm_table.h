// What gemm_simd.cc exports per instruction set. Plain data
// and function pointers: shared by files of different flags.
#pragma once

#include "kernels/activation.h"

namespace walle::kernels {

// A block of C (rows x cols) += A (rows x k) B (k x cols), as register tiles.
//
// A: packed panels of `mr` rows, element (i, l) at panel[l * mr + i] with panels `a_panel` elements apart;
// or, when a_panel is 0, plain rows `a_row` apart with unit column stride (rows <= table.mr_plain only). B:
// one panel of at most `nr` columns, row l at b + l * b_row. Reads all nr columns of a row.
struct GemmBlock {
  int64_t rows = 0, cols = 0, k = 0;
  const float* a = nullptr;
  int64_t a_panel = 0;
  int64_t a_row = 0;
  const float* b = nullptr;
  int64_t b_row = 0;
  int64_t b_next = 0;  // elements to the panel that is wanted next; 0: not known
  float* c = nullptr;
  int64_t c_row = 0;
  bool first = true;  // C starts from the bias instead of its present value
  bool last = true;   // residual and activation are applied
  Epilogue epilogue;  // pointers already moved to this block
};

// mr and nr are data, not constants of the header: they differ between instruction sets, and packed weights
// carry the layout of the set that packed them.
struct GemmTable {
  int mr = 0;        // rows of a packed A panel
  int nr = 0;        // columns of a packed B panel
  int mr_plain = 0;  // most rows that may be read unpacked
  void (*block)(const GemmBlock& block);
  // One plain row by all columns of a plain B of any width, first and last; `b_next` not 0: B comes from
  // memory and is asked for ahead.
  void (*row)(const GemmBlock& block);
  // One plain row by panels of B that are `b_next` elements apart, first and last.
  void (*row_panels)(const GemmBlock& block);
  // rows x k of A (any strides) to ceil(rows / mr) panels, zero-padded.
  void (*pack_a)(const float* a, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k, float* out);
  // k x cols of B (any strides) to ceil(cols / nr) panels
  // [k][nr] that are `panel` elements apart, zero-padded.
  void (*pack_b)(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t cols,
                 int64_t panel, float* out);
};

}  // namespace walle::kernels
