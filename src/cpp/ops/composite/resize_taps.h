// Resize along one axis as a small sparse matrix: output j is the sum of weights[j][t] * x[index[j][t]].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace walle::ops {

struct ResizeRule {
  std::string mode = "nearest";  // nearest, linear, cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;  // ONNX's default, as in OpenCV and PyTorch; TensorFlow and Pillow have -0.5
  bool antialias = false;
  bool exclude_outside = false;
};

Status check_rule(const ResizeRule& rule);

struct AxisTaps {
  int64_t taps = 1;
  std::vector<int32_t> index;  // [out, taps], inside [0, in)
  std::vector<double> weight;  // [out, taps]; empty for nearest (one tap of weight one)
  std::vector<bool> outside;   // tf_crop_and_resize: outputs that are the extrapolation value; empty: none
};

// scale: output size per input size as the model states it; roi_begin, roi_end: of tf_crop_and_resize.
// Preconditions of both: check_rule() passed, 0 < in < 2^31, 0 <= out, scale > 0.

// Elements of the input that one output element is made of;
// up to twice the axis when downsampling with antialias.
int64_t resize_tap_count(const ResizeRule& rule, int64_t in, double scale);
AxisTaps resize_taps(const ResizeRule& rule, int64_t in, int64_t out, double scale, double roi_begin,
                     double roi_end);

}  // namespace walle::ops
