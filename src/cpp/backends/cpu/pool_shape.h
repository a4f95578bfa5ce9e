// The attributes and shapes of a MaxPool or AveragePool node in the kernels' terms.
#pragma once

#include "backends/backend.h"
#include "kernels/pool/pool.h"

namespace walle::backends::cpu {

inline kernels::PoolShape pool_shape(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& y = node.out_shape(0);
  const auto kernel = node.attrs().get_ints("kernel_shape", {1, 1});
  const auto stride = node.attrs().get_ints("strides", {1, 1});
  const auto dilation = node.attrs().get_ints("dilations", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  return {.channels = x[0] * x[1],
          .h = x[2],
          .w = x[3],
          .oh = y[2],
          .ow = y[3],
          .kh = kernel[0],
          .kw = kernel[1],
          .sh = stride[0],
          .sw = stride[1],
          .dh = dilation[0],
          .dw = dilation[1],
          .pt = pad[0],
          .pl = pad[1],
          .pb = pad[2],
          .pr = pad[3],
          .mean = node.op().name == "AveragePool",
          .count_padding = node.attrs().get_int("count_include_pad", 0) != 0};
}

}  // namespace walle::backends::cpu
