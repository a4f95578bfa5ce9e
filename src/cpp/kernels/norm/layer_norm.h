// Layer normalisation of rows: the reference kernel.
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

struct LayerNorm {
  int64_t rows = 0;
  int64_t n = 0;          // elements per row
  double epsilon = 1e-5;  // ONNX's default
  bool center = true;     // false: RMS normalisation, the mean is taken as 0
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, per row. scale
// and bias have n elements or are nullptr; mean and inv_std (float32, one per
// row) may be nullptr. Statistics are summed in double. float32 or float64.
void run_layer_norm(const LayerNorm& spec, DType dtype, const void* x, const void* scale, const void* bias,
                    void* y, float* mean, float* inv_std, int threads);

}  // namespace walle::kernels
