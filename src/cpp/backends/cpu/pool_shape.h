// The attributes and shapes of a MaxPool or AveragePool node in the kernels' terms.
#pragma once

#include "backends/cpu/window_shape.h"
#include "kernels/pool/pool.h"

namespace walle::backends::cpu {

inline kernels::PoolShape pool_shape(const NodeView& node) {
  const auto kernel = node.attrs().get_ints("kernel_shape", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  kernels::PoolShape s{window_shape(node, kernel[0], kernel[1])};
  s.channels = node.shape(0)[0] * node.shape(0)[1];
  s.pb = pad[2];
  s.pr = pad[3];
  s.mean = node.op().name == "AveragePool";
  s.count_padding = node.attrs().get_int("count_include_pad", 0) != 0;
  return s;
}

}  // namespace walle::backends::cpu
