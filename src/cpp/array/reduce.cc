#include "array/reduce.h"

#include <vector>

#include "array/movement.h"
#include "base/unreached.h"
#include "kernels/eltwise/cast.h"
#include "kernels/reduce/reduce.h"

namespace walle::array {

namespace {

bool finds_position(Reduction op) { return op == Reduction::argmin || op == Reduction::argmax; }

struct Types {
  DType compute = DType::undefined;
  DType result = DType::undefined;
};

Types types_of(Reduction op, DType dtype) {
  const bool half = tensor::is_half_float(dtype);
  const DType wide = half ? DType::float32 : dtype;
  switch (op) {
    case Reduction::any:
    case Reduction::all: return {DType::boolean, DType::boolean};
    case Reduction::argmin:
    case Reduction::argmax: return {wide, DType::int64};
    case Reduction::min:
    case Reduction::max: return {wide, dtype};
    case Reduction::mean:
      if (!tensor::is_float(dtype)) return {DType::float64, DType::float64};
      return {wide, dtype};
    case Reduction::sum:
    case Reduction::prod: break;
  }
  if (tensor::is_float(dtype)) return {wide, dtype};
  const bool has_sign = dtype == DType::boolean || tensor::is_signed_integer(dtype);
  return has_sign ? Types{DType::int64, DType::int64} : Types{DType::uint64, DType::uint64};
}

ReduceKind kernel_of(Reduction op) {
  switch (op) {
    case Reduction::prod: return ReduceKind::prod;
    case Reduction::mean: return ReduceKind::mean;
    case Reduction::min:
    case Reduction::all: return ReduceKind::min;
    case Reduction::max:
    case Reduction::any: return ReduceKind::max;
    case Reduction::sum: return ReduceKind::sum;
    case Reduction::argmin:
    case Reduction::argmax: break;  // no folds of elements
  }
  return base::unreached(ReduceKind::sum);
}

Shape reduced_shape(const Shape& shape, Axes axes) {
  Shape out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = (axes.mask >> axis & 1) != 0;
    if (!reduced) out.push_back(shape[axis]);
    if (reduced && axes.keep) out.push_back(1);
  }
  return out;
}

std::vector<int> list_of(uint32_t mask, int rank) {
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis)
    if ((mask >> axis & 1) != 0) axes.push_back(axis);
  return axes;
}

Status check_elements(Reduction op, const Shape& shape, const std::vector<int>& axes) {
  const bool has_neutral = op <= Reduction::mean || op == Reduction::any || op == Reduction::all;
  int64_t count = 1;
  for (const int axis : axes) count *= shape[axis];
  if (has_neutral || count != 0) return {};
  return argument_error("no elements along the axes", "at least one", "",
                        {"the tensor has the shape ", shape.text()});
}

void run(Reduction op, const Shape& shape, const std::vector<int>& axes, DType dtype, const void* in,
         void* out) {
  if (!finds_position(op)) {
    kernels::run_reduce(kernel_of(op), dtype, kernels::make_reduce_plan(shape, axes), in, out, 1);
    return;
  }
  kernels::ArgReduce spec;
  spec.greatest = op == Reduction::argmax;
  if (std::ssize(axes) == 1) {
    spec.outer = shape.product(0, axes[0]);
    spec.axis = shape[axes[0]];
    spec.inner = shape.product(axes[0] + 1, shape.rank());
  } else {
    spec.axis = shape.elements();  // of all axes: row-major order
  }
  kernels::run_arg_reduce(spec, dtype, in, static_cast<int64_t*>(out));
}

Status fill(Reduction op, const Strided& x, const std::vector<int>& axes, Types types, Tensor& out,
            Budget& budget) {
  Scratch dense;
  const std::byte* in = x.first();
  if (x.dtype != types.compute || !x.layout.is_dense()) {
    WALLE_ASSIGN(dense, Scratch::allocate(types.compute, x.shape(), budget));
    WALLE_TRY(cast_into(x, types.compute, dense.strided().data, budget));
    in = dense.strided().data;
  }
  if (finds_position(op) || types.compute == types.result) {
    run(op, x.shape(), axes, types.compute, in, out.mutable_data());
    return {};
  }
  WALLE_ASSIGN(Scratch wide, Scratch::allocate(types.compute, out.shape(), budget));
  run(op, x.shape(), axes, types.compute, in, wide.strided().data);
  kernels::run_cast(types.compute, wide.strided().data, types.result, out.mutable_data(), out.elements(),
                    true);
  return {};
}

}  // namespace

Result<Tensor> reduce(Reduction op, const Strided& x, Axes axes, Budget& budget) {
  const std::vector<int> list = list_of(axes.mask, x.layout.rank());
  const Shape shape = reduced_shape(x.shape(), axes);
  WALLE_TRY(check_elements(op, x.shape(), list));
  const Types types = types_of(op, x.dtype);
  WALLE_ASSIGN(Tensor out, allocate(types.result, shape, budget));
  if (out.elements() == 0) return out;
  Status done = fill(op, x, list, types, out, budget);
  if (done.ok()) return out;
  budget.give_back(out.bytes());
  return done.take_error();
}

}  // namespace walle::array
