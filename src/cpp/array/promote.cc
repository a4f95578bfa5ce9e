#include "array/promote.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/eltwise/cast.h"

namespace walle::array {

namespace {

bool is_wide_integer(DType dtype) { return dtype_size(dtype) >= 4; }

DType signed_of(int64_t size) {
  switch (size) {
    case 1: return DType::int8;
    case 2: return DType::int16;
    case 4: return DType::int32;
    case 8: return DType::int64;
    default: return DType::float64;  // what no integer can hold
  }
}

DType promote_integers(DType a, DType b) {
  if (tensor::is_signed_integer(a) == tensor::is_signed_integer(b))
    return dtype_size(a) >= dtype_size(b) ? a : b;
  const DType with_sign = tensor::is_signed_integer(a) ? a : b;
  const DType without = with_sign == a ? b : a;
  if (dtype_size(with_sign) > dtype_size(without)) return with_sign;
  return signed_of(2 * dtype_size(without));
}

// A float holds the integers of half its size.
DType promote_float_integer(DType floating, DType integer) {
  if (floating == DType::float64 || is_wide_integer(integer)) return DType::float64;
  if (floating == DType::float32 || dtype_size(integer) == 2) return DType::float32;
  return floating;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  const bool float_a = tensor::is_float(a);
  const bool float_b = tensor::is_float(b);
  if (float_a && float_b) {
    if (dtype_size(a) == dtype_size(b)) return DType::float32;  // the two 16-bit ones
    return dtype_size(a) > dtype_size(b) ? a : b;
  }
  if (float_a) return promote_float_integer(a, b);
  if (float_b) return promote_float_integer(b, a);
  return promote_integers(a, b);
}

DType promote(DType array, Number::Kind weak) {
  if (weak == Number::Kind::boolean || tensor::is_float(array)) return array;
  if (weak == Number::Kind::real) return DType::float64;
  return array == DType::boolean ? DType::int64 : array;
}

namespace {

Error does_not_fit(Text given, DType dtype) {
  return argument_error(given, {"a number that ", dtype_name(dtype), " holds"}, "", "use a wider dtype")
      .of_kind(base::ErrorKind::overflow);
}

bool integer_fits(const Number& number, DType dtype) {
  if (number.range == Number::Range::uint64) return dtype == DType::uint64;
  if (number.range != Number::Range::int64) return false;
  const int64_t v = number.integer;
  bool fits = true;
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, uint64_t>)
      fits = v >= 0;
    else
      fits = v >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
             v <= static_cast<int64_t>(std::numeric_limits<T>::max());
  });
  return fits;
}

Result<Element> element_of_integer(const Number& number, DType dtype) {
  Element out{};
  if (tensor::is_float(dtype)) {
    if (number.range == Number::Range::above || number.range == Number::Range::below)
      return does_not_fit("an integer beyond 64 bits", dtype);
    const bool wide = number.range == Number::Range::uint64;
    kernels::run_cast(wide ? DType::uint64 : DType::int64, &number.integer, dtype, out.bytes, 1, true);
    return out;
  }
  if (dtype == DType::boolean) {
    out.bytes[0] = std::byte{number.range != Number::Range::int64 || number.integer != 0};
    return out;
  }
  if (!integer_fits(number, dtype))
    return does_not_fit(
        number.range == Number::Range::int64 ? std::to_string(number.integer) : "an integer beyond int64",
        dtype);
  kernels::run_cast(DType::int64, &number.integer, dtype, out.bytes, 1, true);
  return out;
}

}  // namespace

Result<Element> element_of(const Number& number, DType dtype) {
  if (number.kind != Number::Kind::real) return element_of_integer(number, dtype);
  if (tensor::is_integer(dtype)) {
    if (!std::isfinite(number.real))
      return argument_error({"the number ", number.real}, "a finite number", "",
                            "use a dtype of floating point");
    // 2^63 and -2^63 are exact; between them every whole part is an int64.
    constexpr double kTop = 9223372036854775808.0;
    if (number.real >= kTop || number.real < -kTop) return does_not_fit({"the number ", number.real}, dtype);
    Number whole;
    whole.integer = static_cast<int64_t>(number.real);
    return element_of_integer(whole, dtype);
  }
  Element out{};
  kernels::run_cast(DType::float64, &number.real, dtype, out.bytes, 1, true);
  return out;
}

bool can_cast_same_kind(DType from, DType to) {
  if (from == to || from == DType::boolean) return true;
  if (to == DType::boolean) return false;
  if (tensor::is_float(to)) return true;
  if (tensor::is_float(from)) return false;
  return tensor::is_signed_integer(to) || !tensor::is_signed_integer(from);
}

}  // namespace walle::array
