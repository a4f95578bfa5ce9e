// Reading an image or volume at arbitrary positions: the reference kernel of GridSample.
#pragma once

#include <array>

#include "tensor/kinds.h"

namespace walle::kernels {

struct GridSample {
  int axes = 2;                   // spatial axes, 1 to 3
  std::array<int64_t, 3> size{};  // of the input per axis, outermost first; all positive
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t points = 1;  // positions per batch item
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;
};

// x [batch, channels, size...], grid [batch, points, axes] (last axis
// first, in [-1, 1]), y [batch, channels, points]. float32 or float64.
void run_grid_sample(const GridSample& spec, DType dtype, const void* x, const void* grid, void* y,
                     int threads);

}  // namespace walle::kernels
