// Softmax and its logarithm along the middle axis of [outer, axis, inner]: the reference kernel.
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

struct Softmax {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  bool log = false;
};

// The maximum is subtracted first, so finite input never overflows. float32 or float64.
void run_softmax(const Softmax& spec, DType dtype, const void* x, void* y, int threads);

}  // namespace walle::kernels
