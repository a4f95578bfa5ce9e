// Axes of reductions and of operators along one axis, checked.
#pragma once

#include <vector>

#include "ir/infer.h"

namespace walle::ops {

// The axes a reduction of this rank goes over: each in
// range, none twice. Empty `axes`: all, or none when `noop`.
Result<std::vector<int>> reduce_axes(const std::vector<int64_t>& axes, int rank, bool noop);

// `in` without the axes, or with size 1 there.
Shape reduced_shape(const Shape& in, const std::vector<int>& axes, bool keepdims);

// Shape rule of the Reduce operators: axes in optional input 1, attributes keepdims and noop_with_empty_axes.
Status infer_reduce(ir::InferContext& c);

// Output like input 0; checks attribute `axis` (default -1).
Status infer_along_axis(ir::InferContext& c);

}  // namespace walle::ops
