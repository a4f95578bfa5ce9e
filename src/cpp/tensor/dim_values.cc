#include "tensor/dim_values.h"

namespace walle::tensor {

std::optional<std::vector<Dim>> dim_values(const Tensor& tensor) {
  const bool counts =
      tensor.dtype() == DType::int64 || tensor.dtype() == DType::int32 || tensor.dtype() == DType::boolean;
  if (!counts || tensor.elements() > kMaxDimValues) return std::nullopt;
  const auto numbers = tensor.to_i64();
  if (!numbers.ok()) return std::nullopt;
  return std::vector<Dim>(numbers->begin(), numbers->end());
}

Result<Tensor> pinned_tensor(DType dtype, const Shape& shape, std::span<const Dim> values) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(dtype, shape));
  const auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = out.as_mutable<T>().data();
    for (size_t i = 0; i < values.size(); ++i) p[i] = static_cast<T>(int64_t{values[i]});
  };
  if (dtype == DType::boolean)
    fill(TypeTag<bool>{});
  else if (dtype == DType::int32)
    fill(TypeTag<int32_t>{});
  else
    fill(TypeTag<int64_t>{});
  return out;
}

}  // namespace walle::tensor
