// The attributes and shapes of a Conv node in the kernels' terms.
#pragma once

#include "backends/cpu/window_shape.h"
#include "kernels/conv/conv.h"

namespace walle::backends::cpu {

inline kernels::ConvShape conv_shape(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  return {window_shape(node, w[2], w[3]), x[0], x[1], w[0], node.attrs().get_int("group", 1)};
}

}  // namespace walle::backends::cpu
