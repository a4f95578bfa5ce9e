// What pool_simd.cc exports per instruction set. Plain data
// and function pointers: shared by files of different flags.
#pragma once

#include "kernels/window_shape.h"

namespace walle::kernels {

// One channel whose planes (ConvPlanes) are filled: -infinity outside the input for a maximum, 0 for a mean.
struct PoolTask {
  const float* planes = nullptr;  // a vector may be read past the last element
  const int64_t* tap = nullptr;   // offset of each tap
  int64_t taps = 0;
  int64_t oh = 0, ow = 0, pitch = 0;
  float* out = nullptr;           // oh x ow, dense
  const float* factor = nullptr;  // mean: reciprocal number of taps per output; nullptr: maximum
};

// One channel as it lies: windows without dilation. What is pooled of rows comes first, into a line that has
// -infinity (for a mean 0) around it, then that of columns: 3 x 3 with a stride of 2 takes 1.5 loads a column
// instead of 9 after a copy into planes.
struct PoolImageTask : WindowShape {
  const float* image = nullptr;
  float* line = nullptr;  // as long as windows and whole vectors read, neutral outside of [pl, pl + w)
  float* out = nullptr;   // oh x ow, dense
  const float* factor = nullptr;  // as in PoolTask
};

struct PoolTable {
  void (*run)(const PoolTask& task);
  void (*max_image)(const PoolImageTask& task);
  void (*mean_image)(const PoolImageTask& task);  // of a stride of 3 and more
};

}  // namespace walle::kernels
