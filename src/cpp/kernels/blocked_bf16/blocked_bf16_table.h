// What a form of the kernels over bfloat16 images exports: images as in kernels/blocked/blocked_table.h, of
// two bytes an element, from which they compute in float32. Plain data and function pointers: shared by files
// of different flags.
#pragma once

#include <cstdint>

#include "kernels/blocked/blocked_table.h"

namespace walle::kernels {

struct BlockedBf16Table {
  int lanes = 0;
  // `count` vectors of `lanes` elements, so many elements apart on each side. Rounded half to even, subnormal
  // numbers to zeros but by Arm's BFCVT, which keeps them; NaN stays NaN.
  void (*widen)(const uint16_t* from, int64_t from_step, int64_t count, float* to, int64_t to_step);
  void (*narrow)(const float* from, int64_t from_step, int64_t count, uint16_t* to, int64_t to_step);
  // Results in float32. Windows of 3 or 5, strides of 1 or 2.
  void (*depthwise)(int64_t window, int64_t stride, const BlockedDepthwiseOf<uint16_t>& task);
  void (*pool)(const BlockedPoolOf<uint16_t>& task);
  void (*mean)(const uint16_t* x, int64_t pixels, float count, float* out);
};

}  // namespace walle::kernels
