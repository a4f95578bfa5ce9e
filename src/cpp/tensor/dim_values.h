// Elements of small integer tensors that may be symbols: what a model computes of its own shapes - Shape, a
// Gather of it, a Concat for a Reshape - while a plan for a class of shapes is made (tensor/dim.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace walle::tensor {

// More than any operator takes of sizes: two per axis, and room for what they are cut from.
inline constexpr int64_t kMaxDimValues = 64;

// The elements of an integer or boolean tensor; nothing for another dtype or a larger one.
std::optional<std::vector<Dim>> dim_values(const Tensor& tensor);

// The tensor of these numbers, which the plan is then made for. `dtype` is int64, int32 or boolean.
Result<Tensor> pinned_tensor(DType dtype, const Shape& shape, std::span<const Dim> values);

}  // namespace walle::tensor
