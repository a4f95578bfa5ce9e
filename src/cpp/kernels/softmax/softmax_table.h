// What softmax_simd.cc exports per instruction set. Plain data and function pointers: shared by files of
// different flags.
#pragma once

#include <cstdint>

namespace walle::kernels {

// Rows along the middle axis of [outer, axis, inner], none of which is 0. y may be x.
struct SoftmaxTask {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t axis = 1;
  int64_t inner = 1;
  bool log = false;
};

struct SoftmaxTable {
  // Rows of n elements that lie behind one another, a row at a time: long ones.
  void (*rows)(const float* x, float* y, int64_t rows, int64_t n);
  void (*log_rows)(const float* x, float* y, int64_t rows, int64_t n);  // of LogSoftmax
  // Rows [begin, end) of outer * inner, one in each lane: rows whose elements lie apart, and short ones.
  void (*lanes)(const SoftmaxTask& task, int64_t begin, int64_t end);
  int64_t width = 0;  // lanes of a vector
};

// Rows of up to this length can be turned into lanes where they lie behind one another, or nearly so.
inline constexpr int64_t kTurnedAxis = 64;

}  // namespace walle::kernels
