// Features of boxes: reference kernels of RoiAlign (He et al., "Mask
// R-CNN", 2017) and MaxRoiPool (Girshick, "Fast R-CNN", 2015).
#pragma once

#include "base/status.h"
#include "tensor/dtype.h"

namespace walle::kernels {

struct Roi {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t boxes = 0;
  int64_t out_height = 1, out_width = 1;
  double scale = 1;  // from box coordinates to elements
  // RoiAlign only:
  int64_t sampling_ratio = 0;  // samples per bin and axis; 0: one per element the bin covers
  bool half_pixel = true;
  bool maximum = false;
};

// x [batch, channels, height, width], rois [boxes, 4], batch_indices [boxes],
// y [boxes, channels, out_height, out_width]. A model error for a batch index
// outside x, or a box so large that its samples cannot be counted.
Status run_roi_align(const Roi& spec, DType dtype, const void* x, const void* rois,
                     const int64_t* batch_indices, void* y, int threads);

// rois [boxes, 5]: batch index first.
Status run_max_roi_pool(const Roi& spec, DType dtype, const void* x, const void* rois, void* y, int threads);

}  // namespace walle::kernels
