// Maximum pooling that also tells where each maximum was:
// the reference kernel, for any number of spatial axes.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace walle::kernels {

struct MaxPoolIndices {
  int64_t planes = 1;                                           // batch * channels
  std::vector<int64_t> in, out, kernel, stride, dilation, pad;  // one entry per spatial axis; pad: leading
  bool column_major = false;  // indices count the spatial axes with the first one fastest
};

// x [planes, in...], y and indices [planes, out...]. Any numeric dtype. A window without input has index 0
// and the lowest value of the dtype.
void run_max_pool_indices(const MaxPoolIndices& spec, DType dtype, const void* x, void* y, int64_t* indices,
                          int threads);

}  // namespace walle::kernels
