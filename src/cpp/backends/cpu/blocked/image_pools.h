// Reductions over an image's pixels, whatever it is kept in.
#pragma once

#include "backends/cpu/blocked/blocked_op.h"

namespace walle::backends::cpu {

// Whether the node reduces rows and columns and nothing else, and its result is [n, c, 1, 1] or has its
// bytes.
bool reduces_pixels(const NodeView& node);
// Divided, as in the reference: a factor 1 / count would round twice. 1 of sums.
float image_mean_count(const NodeView& node);

}  // namespace walle::backends::cpu
