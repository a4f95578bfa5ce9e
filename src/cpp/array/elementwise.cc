#include "array/elementwise.h"

#include <algorithm>
#include <optional>

#include "array/movement.h"
#include "array/ready.h"
#include "kernels/eltwise/cast.h"
#include "kernels/eltwise/eltwise.h"

namespace walle::array {

namespace {

// What small tensors nearly always are takes 20 ns less without the general plan.
kernels::Broadcast plan(const Shape& shape, const Ready& x, const Ready& y) {
  const std::optional<int64_t> x_step = x.one_step(shape);
  const std::optional<int64_t> y_step = y.one_step(shape);
  if (!x_step || !y_step) {
    const Layout layouts[] = {*x.layout, *y.layout};
    return kernels::make_broadcast(shape, std::span<const Layout>(layouts));
  }
  kernels::Broadcast b;
  b.rank = 1;
  b.operands = 2;
  b.elements = b.size[0] = shape.elements();
  b.stride[0][0] = *x_step;
  b.stride[1][0] = *y_step;
  return b;
}

void run_kernel(const OperatorTypes& types, const Shape& shape, const Ready& x, const Ready& y, void* out) {
  const kernels::Broadcast b = plan(shape, x, y);
  if (b.elements == 0) return;
  const bool is_float = types.compute == DType::float32;
  const kernels::BinaryF32 fast = is_float ? kernels::binary_f32(types.kernel, chosen_isa()) : nullptr;
  if (fast == nullptr || !kernels::simple_runs(b)) {
    kernels::run_binary(types.kernel, types.compute, b, x.data, y.data, out, 0, b.elements);
    return;
  }
  const auto* p = reinterpret_cast<const float*>(x.data);
  const auto* q = reinterpret_cast<const float*>(y.data);
  const int last = b.rank - 1;
  kernels::for_each_run(b, 0, b.elements, [&](int64_t at, const auto& offset, int64_t n) {
    fast(p + offset[0], b.stride[0][last], q + offset[1], b.stride[1][last], static_cast<float*>(out) + at,
         n);
  });
}

// NumPy refuses what has no integer result.
Status check_powers(DType dtype, const Ready& exponents) {
  if (!tensor::is_signed_integer(dtype)) return {};
  bool negative = false;
  const Layout layouts[] = {*exponents.layout};
  const kernels::Broadcast b = kernels::make_broadcast(layouts[0].shape, std::span<const Layout>(layouts));
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = reinterpret_cast<const T*>(exponents.data);
    const int64_t step = b.stride[0][b.rank - 1];
    kernels::for_each_run(b, 0, b.elements, [&](int64_t, const auto& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i) negative |= data[offset[0] + i * step] < 0;
    });
  });
  if (!negative) return {};
  return argument_error("an integer to a negative power", "powers from 0 on, or floating point", "",
                        "use astype('float64')");
}

// Comparisons with an integer that the array's dtype cannot hold have one answer for all elements.
std::optional<bool> decided(Binary op, DType dtype, const Operand& x, const Operand& y) {
  const Operand& number = x.array == nullptr ? x : y;
  if (number.array != nullptr || number.number.kind != Number::Kind::integer || !tensor::is_integer(dtype) ||
      element_of(number.number, dtype).ok())
    return std::nullopt;
  const bool high = number.number.range == Number::Range::above ||
                    number.number.range == Number::Range::uint64 ||
                    (number.number.range == Number::Range::int64 && number.number.integer > 0);
  const bool array_is_less = high == (x.array != nullptr);
  if (op == Binary::equal || op == Binary::not_equal) return op == Binary::not_equal;
  const bool less = op == Binary::less || op == Binary::less_equal;
  return less == array_is_less;
}

bool is_small(const Number& number, int64_t value) {
  return number.kind != Number::Kind::boolean && number.range == Number::Range::int64 &&
         (number.kind == Number::Kind::integer ? number.integer == value
                                               : number.real == static_cast<double>(value));
}

// From the compute type to the result's, in place of `out`.
void turn_round(Tensor& out) {
  kernels::run_unary(UnaryKind::logical_not, DType::boolean, {}, out.data(), out.mutable_data(),
                     out.elements());
}

Status fill(Binary op, const OperatorTypes& types, const Operand& x, const Operand& y, Tensor& out,
            Budget& budget) {
  Ready left;
  Ready right;
  WALLE_TRY(make_ready(x, types, budget, left));
  WALLE_TRY(make_ready(y, types, budget, right));
  if (op == Binary::power) WALLE_TRY(check_powers(types.compute, right));
  const bool direct = types.compute == types.result || types.result == DType::boolean;
  if (direct) {
    run_kernel(types, out.shape(), left, right, out.mutable_data());
    if (types.inverted) turn_round(out);
    return {};
  }
  WALLE_ASSIGN(Scratch wide, Scratch::allocate(types.compute, out.shape(), budget));
  run_kernel(types, out.shape(), left, right, wide.strided().data);
  kernels::run_cast(types.compute, wide.strided().data, types.result, out.mutable_data(), out.elements(),
                    true);
  return {};
}

}  // namespace

Result<Tensor> binary(Binary op, const Operand& x, const Operand& y, Budget& budget) {
  if (op == Binary::power && y.array == nullptr && is_small(y.number, 2) &&
      x.array->dtype != DType::boolean &&
      (y.number.kind == Number::Kind::integer || tensor::is_float(x.array->dtype)))
    return binary(Binary::multiply, x, x, budget);  // exact and fast, as NumPy does it
  WALLE_ASSIGN(const Shape shape, shape_of(x, y));
  const DType dtype = dtype_of(x, y);
  WALLE_ASSIGN(const OperatorTypes types, operator_types(op, dtype));
  WALLE_ASSIGN(Tensor out, allocate(types.result, shape, budget));
  if (is_comparison(op)) {
    if (const std::optional<bool> answer = decided(op, dtype, x, y)) {
      std::fill_n(static_cast<bool*>(out.mutable_data()), out.elements(), *answer);
      return out;
    }
  }
  Status done = fill(op, types, x, y, out, budget);
  if (done.ok()) return out;
  budget.give_back(out.bytes());
  return done.take_error();
}

namespace {

Result<UnaryKind> unary_kernel(Unary op, DType dtype) {
  const bool logic = dtype == DType::boolean;
  switch (op) {
    case Unary::negative:
      if (!logic) return UnaryKind::neg;
      break;
    case Unary::absolute: return UnaryKind::abs;
    case Unary::invert:
      if (logic) return UnaryKind::logical_not;
      if (tensor::is_integer(dtype)) return UnaryKind::bit_not;
      break;
    case Unary::exp: return UnaryKind::exp;
    case Unary::log: return UnaryKind::log;
  }
  return argument_error({"'", op == Unary::negative ? "-" : "~", "' of ", dtype_name(dtype)},
                        "an operator that the element type has", "", "use astype()")
      .of_kind(base::ErrorKind::wrong_type);
}

// NumPy: functions of integers are computed in the smallest float that holds all of them.
DType unary_type(Unary op, DType dtype) {
  if (tensor::is_float(dtype) || (op != Unary::exp && op != Unary::log)) return dtype;
  switch (dtype_size(dtype)) {
    case 1: return DType::float16;
    case 2: return DType::float32;
    default: return DType::float64;
  }
}

}  // namespace

Result<Tensor> unary(Unary op, const Strided& x, Budget& budget) {
  WALLE_ASSIGN(const UnaryKind kind, unary_kernel(op, x.dtype));
  const DType dtype = unary_type(op, x.dtype);
  WALLE_ASSIGN(Tensor out, astype(x, dtype, budget));
  if (op == Unary::absolute && x.dtype == DType::boolean) return out;
  const int64_t n = out.elements();
  if (!tensor::is_half_float(dtype)) {
    UnaryParams params;
    const kernels::UnaryF32 fast =
        dtype == DType::float32 ? kernels::unary_f32(kind, chosen_isa(), params) : nullptr;
    auto* data = static_cast<float*>(out.mutable_data());
    if (fast != nullptr)
      fast(data, data, n, 0, 0);
    else
      kernels::run_unary(kind, dtype, {}, out.data(), out.mutable_data(), n);
    return out;
  }
  Result<Scratch> wide = Scratch::allocate(DType::float32, x.shape(), budget);
  if (!wide.ok()) {
    budget.give_back(out.bytes());
    return wide.take_error();
  }
  std::byte* floats = wide->strided().data;
  kernels::run_cast(dtype, out.data(), DType::float32, floats, n, true);
  kernels::run_unary(kind, DType::float32, {}, floats, floats, n);
  kernels::run_cast(DType::float32, floats, dtype, out.mutable_data(), n, true);
  return out;
}

}  // namespace walle::array
