#include "ir/infer.h"

#include <algorithm>

#include "tensor/dim_values.h"

namespace walle::ir {

Result<const Tensor*> InferContext::need(int i) {
  if (i < 0 || !has(i))
    return model_error({"input ", i, " is missing"}, "a tensor", "inputs", "connect the input");
  if (const Tensor* known = constant(i)) return known;
  if (fetch_) {
    if (const Tensor* value = fetch_(i)) return value;
    if (const Tensor* known = constant(i)) return known;  // fetched as sizes
  }
  // The error only ends the rule: the planner asks missing() first and never shows it.
  missing_ = i;
  return internal_error({"the value of input ", i, " is not known yet"}, "shape inference");
}

Result<std::vector<int64_t>> InferContext::need_i64(int i) {
  WALLE_ASSIGN(const Tensor* value, need(i));
  return value->to_i64();
}

Result<std::vector<tensor::Dim>> InferContext::need_dims(int i) {
  // What is fetched may be sizes of a class.
  if (has(i) && !inputs_[i].sizes && !inputs_[i].constant && fetch_) fetch_(i);
  if (has(i) && inputs_[i].sizes) return *inputs_[i].sizes;
  WALLE_ASSIGN(const std::vector<int64_t> numbers, need_i64(i));
  return std::vector<tensor::Dim>(numbers.begin(), numbers.end());
}

Status InferContext::output_sizes(int i, const Shape& shape, std::vector<tensor::Dim> sizes) {
  if (i < output_count() && std::ranges::any_of(sizes, &tensor::Dim::symbolic)) {
    output(i, DType::int64, shape);
    outputs_[i].sizes = std::move(sizes);
    return {};
  }
  WALLE_ASSIGN(Tensor value, tensor::pinned_tensor(DType::int64, shape, sizes));
  output_value(i, std::move(value));
  return {};
}

// nullptr where there is no memory for it: then the rule says what it does of a value that is not known.
const Tensor* InferContext::pinned(int i) const {
  if (const auto known = pinned_.find(i); known != pinned_.end()) return &known->second;
  auto made = tensor::pinned_tensor(dtype(i), shape(i), *inputs_[i].sizes);
  return made.ok() ? &pinned_.emplace(i, std::move(*made)).first->second : nullptr;
}

}  // namespace walle::ir
