// Sparse linear maps along the middle axis of [outer, in, inner]:
// y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i].
#pragma once

#include "base/status.h"
#include "tensor/dtype.h"

namespace walle::kernels {

struct Interpolate {
  int64_t outer = 1;
  int64_t in = 1;
  int64_t out = 1;
  int64_t inner = 1;
  int64_t taps = 1;
};

// Every index lies in [0, in). The tables come from a model, so kernels look before they read.
Status check_indices(const Interpolate& spec, const int32_t* index);

// weight null: a selection of whole elements of any dtype. Else float32 or float64.
void run_interpolate(const Interpolate& spec, DType dtype, const void* x, const int32_t* index,
                     const void* weight, void* y, int threads);

}  // namespace walle::kernels
