// Cutting tensors along an axis and stacking them again, for Loop, Scan and the sequence operators.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace walle::ops {

// x[..., index, ...] with `axis` removed. Shares the bytes when
// they are contiguous. Precondition: index and axis valid.
Result<Tensor> take(const Tensor& x, int axis, int64_t index);

// The tensors stacked along a new `axis`; all must agree in dtype and shape.
Result<Tensor> stack(const std::vector<Tensor>& items, int axis);

// What a slice output of zero rounds holds: no elements, in the shape that the attribute `body` promises for
// its output number `body_output` as far as that is known, behind a leading 0.
Result<Tensor> no_slices(const ir::Attributes& attrs, size_t body_output);

// The one integer (or boolean) of a tensor with one element.
Result<int64_t> one_integer(const Tensor* t, const char* where);

}  // namespace walle::ops
