// The moved taps of a deformable convolution, gathered into columns for a matrix product.
// After Dai et al., "Deformable Convolutional Networks" (2017), with the mask of Zhu et al. (2019).
#pragma once

#include "tensor/dtype.h"

namespace walle::kernels {

struct DeformColumns {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t groups = 1;  // of offsets; divides channels
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};  // pad: top, left
  int64_t out[2] = {1, 1};
};

// x [batch, channels, height, width], offset [batch, groups, taps, 2, oh, ow] (y, x), mask [batch, groups,
// taps, oh, ow] or null, y [batch, channels, taps, oh * ow]. float32 or float64.
void run_deform_columns(const DeformColumns& spec, DType dtype, const void* x, const void* offset,
                        const void* mask, void* y, int threads);

}  // namespace walle::kernels
