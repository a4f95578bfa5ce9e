#include "array/memory.h"

#include <utility>

#include "array/recycled.h"

namespace walle::array {

Result<Tensor> allocate(DType dtype, const Shape& shape, Budget& budget) {
  WALLE_ASSIGN(const Shape checked, Shape::checked(shape.dims(), dtype_size(dtype), ""));
  const int64_t bytes = checked.elements() * dtype_size(dtype);
  if (!budget.take(bytes))
    return resource_error({bytes, " bytes for a tensor"}, "memory within the limit", "",
                          "use smaller tensors, or raise the limit")
        .of_kind(base::ErrorKind::no_memory);
  Result<Buffer> buffer = eager_buffer(static_cast<size_t>(bytes));
  if (buffer.ok()) return Tensor(dtype, checked, std::move(buffer).value());
  budget.give_back(bytes);
  return buffer.take_error();
}

Result<Scratch> Scratch::allocate(DType dtype, const Shape& shape, Budget& budget) {
  Scratch out;
  WALLE_ASSIGN(out.tensor_, array::allocate(dtype, shape, budget));
  out.budget_ = &budget;
  return out;
}

Scratch::Scratch(Scratch&& other) noexcept
    : tensor_(std::move(other.tensor_)), budget_(std::exchange(other.budget_, nullptr)) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(tensor_, other.tensor_);
  std::swap(budget_, other.budget_);
  return *this;
}

Scratch::~Scratch() {
  if (budget_ != nullptr) budget_->give_back(tensor_.bytes());
}

Strided Scratch::strided() {
  return {tensor_.dtype(), static_cast<std::byte*>(tensor_.mutable_data()), Layout::dense(tensor_.shape())};
}

}  // namespace walle::array
