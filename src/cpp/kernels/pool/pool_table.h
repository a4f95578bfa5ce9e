// What pool_simd.cc exports per instruction set. Plain data
// and function pointers: shared by files of different flags.
#pragma once

#include <cstdint>

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

struct PoolTable {
  void (*run)(const PoolTask& task);
};

}  // namespace walle::kernels
