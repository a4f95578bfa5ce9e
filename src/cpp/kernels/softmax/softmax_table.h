// What softmax_simd.cc exports per instruction set.
#pragma once

#include <cstdint>

namespace walle::kernels {

struct SoftmaxTable {
  // Rows of n elements that lie behind one another.
  void (*rows)(const float* x, float* y, int64_t rows, int64_t n);
};

}  // namespace walle::kernels
