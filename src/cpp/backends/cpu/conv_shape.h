// The attributes and shapes of a Conv node in the kernels' terms.
#pragma once

#include "backends/backend.h"
#include "kernels/conv/conv.h"

namespace walle::backends::cpu {

inline kernels::ConvShape conv_shape(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  const Shape& y = node.out_shape(0);
  // The defaults are ONNX's; the shape rule has checked lengths and signs.
  const auto stride = node.attrs().get_ints("strides", {1, 1});
  const auto dilation = node.attrs().get_ints("dilations", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  // The pads behind the image (pad[2], pad[3]) are in the output's size already.
  return {.n = x[0],
          .c = x[1],
          .h = x[2],
          .w = x[3],
          .m = w[0],
          .oh = y[2],
          .ow = y[3],
          .kh = w[2],
          .kw = w[3],
          .sh = stride[0],
          .sw = stride[1],
          .dh = dilation[0],
          .dw = dilation[1],
          .pt = pad[0],
          .pl = pad[1],
          .groups = node.attrs().get_int("group", 1)};
}

}  // namespace walle::backends::cpu
