#include "array/ready.h"

#include "array/movement.h"
#include "kernels/eltwise/cast.h"

namespace walle::array {

kernels::Isa chosen_isa() {
  static const kernels::Isa isa = [] {
    const Result<kernels::Isa> selected = kernels::select_isa();
    return selected.ok() ? *selected : kernels::supported_isas().back();
  }();
  return isa;
}

std::optional<int64_t> Ready::one_step(const Shape& shape) const {
  if (layout == &kNumber) return 0;
  if (layout->shape == shape && layout->is_dense()) return 1;
  return std::nullopt;
}

namespace {

Result<Element> ready_number(const Number& number, const OperatorTypes& types) {
  if (!tensor::is_half_float(types.result)) return element_of(number, types.compute);
  WALLE_ASSIGN(const Element narrow, element_of(number, types.result));
  Element wide{};
  kernels::run_cast(types.result, narrow.bytes, types.compute, wide.bytes, 1, true);
  return wide;
}

}  // namespace

Status make_ready(const Operand& operand, const OperatorTypes& types, Budget& budget, Ready& out) {
  const DType dtype = types.compute;
  if (operand.array == nullptr) {
    WALLE_ASSIGN(out.element, ready_number(operand.number, types));
    out.data = out.element.bytes;
    return {};
  }
  const Strided& array = *operand.array;
  if (array.dtype == dtype) {
    out.data = array.first();
    out.layout = &array.layout;
    return {};
  }
  WALLE_ASSIGN(out.scratch, Scratch::allocate(dtype, array.shape(), budget));
  const Strided dense = out.scratch.strided();
  WALLE_TRY(cast_into(array, dtype, dense.data, budget));
  out.data = dense.data;
  out.own = dense.layout;
  out.layout = &out.own;
  return {};
}

Result<Shape> shape_of(const Operand& x, const Operand& y) {
  if (x.array == nullptr) return y.array->shape();
  if (y.array == nullptr || x.array->shape() == y.array->shape()) return x.array->shape();
  return tensor::broadcast(x.array->shape(), y.array->shape());
}

DType dtype_of(const Operand& x, const Operand& y) {
  if (x.array == nullptr) return promote(y.array->dtype, x.number.kind);
  if (y.array == nullptr) return promote(x.array->dtype, y.number.kind);
  return promote(x.array->dtype, y.array->dtype);
}

}  // namespace walle::array
