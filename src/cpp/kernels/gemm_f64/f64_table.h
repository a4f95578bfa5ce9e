// What f64_simd.cc exports per instruction set. Plain data and function pointers: shared by files of
// different flags.
#pragma once

#include <cstdint>

namespace walle::kernels {

// A block of C (rows x cols) += A (rows x k) B (k x cols). A: panels of `mr` rows side by side, element (i,
// l) of one at panel[l * mr + i]; B: one panel, row l at b + l * nr.
struct F64Block {
  int64_t rows = 0, cols = 0, k = 0;
  const double* a = nullptr;
  const double* b = nullptr;
  double* c = nullptr;
  int64_t c_row = 0;
  bool first = true;  // C starts from zero instead of its present value
};

struct F64Table {
  int mr = 0, nr = 0;
  void (*block)(const F64Block& block);
};

}  // namespace walle::kernels
