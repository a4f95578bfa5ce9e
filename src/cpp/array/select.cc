#include "kernels/eltwise/select.h"

#include "array/ready.h"
#include "array/select.h"

namespace walle::array {

namespace {

constexpr OperatorTypes plain(DType dtype) { return {.compute = dtype, .result = dtype}; }

Status fill(const Operand& condition, const Operand& x, const Operand& y, Tensor& out, Budget& budget) {
  Ready chosen;
  Ready left;
  Ready right;
  WALLE_TRY(make_ready(condition, plain(DType::boolean), budget, chosen));
  WALLE_TRY(make_ready(x, plain(out.dtype()), budget, left));
  WALLE_TRY(make_ready(y, plain(out.dtype()), budget, right));
  const Layout layouts[] = {*chosen.layout, *left.layout, *right.layout};
  const kernels::Broadcast b = kernels::make_broadcast(out.shape(), std::span<const Layout>(layouts));
  if (b.elements == 0) return {};
  kernels::run_select(b, dtype_size(out.dtype()), reinterpret_cast<const bool*>(chosen.data), left.data,
                      right.data, out.mutable_data(), 0, b.elements);
  return {};
}

}  // namespace

Result<Tensor> where(const Operand& condition, const Operand& x, const Operand& y, Budget& budget) {
  WALLE_ASSIGN(Shape shape, shape_of(x, y));
  if (condition.array != nullptr) {
    WALLE_ASSIGN(shape, tensor::broadcast(condition.array->shape(), shape));
  }
  WALLE_ASSIGN(Tensor out, allocate(dtype_of(x, y), shape, budget));
  Status done = fill(condition, x, y, out, budget);
  if (done.ok()) return out;
  budget.give_back(out.bytes());
  return done.take_error();
}

}  // namespace walle::array
