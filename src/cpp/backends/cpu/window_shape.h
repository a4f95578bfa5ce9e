// The window of a Conv, MaxPool or AveragePool node in the kernels' terms.
#pragma once

#include "backends/backend.h"
#include "kernels/window_shape.h"

namespace walle::backends::cpu {

inline kernels::WindowShape window_shape(const NodeView& node, int64_t kh, int64_t kw) {
  const Shape& x = node.shape(0);
  const Shape& y = node.out_shape(0);
  // The defaults are ONNX's; the shape rule has checked lengths and signs.
  const auto stride = node.attrs().get_ints("strides", {1, 1});
  const auto dilation = node.attrs().get_ints("dilations", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  // The pads behind the image (pad[2], pad[3]) are in the output's size already.
  return {.h = x[2],
          .w = x[3],
          .oh = y[2],
          .ow = y[3],
          .kh = kh,
          .kw = kw,
          .sh = stride[0],
          .sw = stride[1],
          .dh = dilation[0],
          .dw = dilation[1],
          .pt = pad[0],
          .pl = pad[1]};
}

}  // namespace walle::backends::cpu
