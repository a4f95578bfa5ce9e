// The window of ConvTranspose: what its attributes, explicit or not, come down to.
#pragma once

#include "ops/rules/window.h"

namespace walle::ops {

// kernel, stride, dilation and the padding taken off each end; `out` is the result's spatial size. `w` are
// the weights [C, M / group, ...].
Result<Window> transposed_window(const ir::Attributes& attrs, const Shape& x, const Shape& w);

}  // namespace walle::ops
