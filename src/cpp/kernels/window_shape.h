// WindowShape: a window that moves over an image. Plain data: shared by files of different flags.
#pragma once

#include <cstdint>

namespace walle::kernels {

// Named as in the formulas: the image, the output, kernel, stride, dilation, and padding at the top and on
// the left. What lies below and on the right follows from the output's size.
struct WindowShape {
  int64_t h = 1, w = 1, oh = 1, ow = 1;
  int64_t kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1;
  int64_t pt = 0, pl = 0;
};

}  // namespace walle::kernels
