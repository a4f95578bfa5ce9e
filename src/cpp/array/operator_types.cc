#include "array/operator_types.h"

#include <iterator>

namespace walle::array {

namespace {

struct Facts {
  std::string_view symbol;
  BinaryKind kernel;
};

// In the order of Binary.
constexpr Facts kFacts[] = {
    {"+", BinaryKind::add},         {"-", BinaryKind::sub},
    {"*", BinaryKind::mul},         {"/", BinaryKind::div},
    {"//", BinaryKind::floor_div},  {"%", BinaryKind::mod},
    {"**", BinaryKind::power},      {"&", BinaryKind::bit_and},
    {"|", BinaryKind::bit_or},      {"^", BinaryKind::bit_xor},
    {"<<", BinaryKind::shift_left}, {">>", BinaryKind::shift_right},
    {"maximum", BinaryKind::max},   {"minimum", BinaryKind::min},
    {"==", BinaryKind::equal},      {"!=", BinaryKind::equal},
    {"<", BinaryKind::less},        {"<=", BinaryKind::less_equal},
    {">", BinaryKind::greater},     {">=", BinaryKind::greater_equal},
};
static_assert(std::size(kFacts) == static_cast<size_t>(Binary::greater_equal) + 1);

Error not_defined(Binary op, DType dtype, Text next) {
  return argument_error({"'", symbol(op), "' of ", dtype_name(dtype)},
                        "an operator that the element type has", "", next)
      .of_kind(base::ErrorKind::wrong_type);
}

bool is_bitwise(Binary op) { return op >= Binary::bit_and && op <= Binary::right_shift; }

// NumPy: + and * of booleans are or and and, - is refused, and what has no boolean loop takes int8's.
Result<OperatorTypes> of_booleans(Binary op) {
  OperatorTypes out{
      .kernel = kFacts[static_cast<size_t>(op)].kernel, .compute = DType::boolean, .result = DType::boolean};
  switch (op) {
    case Binary::add:
    case Binary::bit_or: out.kernel = BinaryKind::logical_or; return out;
    case Binary::multiply:
    case Binary::bit_and: out.kernel = BinaryKind::logical_and; return out;
    case Binary::bit_xor: out.kernel = BinaryKind::logical_xor; return out;
    case Binary::subtract: return not_defined(op, DType::boolean, "use ^ or astype('int8')");
    case Binary::divide: out.compute = out.result = DType::float64; return out;
    case Binary::floor_divide:
    case Binary::remainder:
    case Binary::power:
    case Binary::left_shift:
    case Binary::right_shift: out.compute = out.result = DType::int8; return out;
    // Of any two of one type.
    case Binary::maximum:
    case Binary::minimum:
    case Binary::equal:
    case Binary::not_equal:
    case Binary::less:
    case Binary::less_equal:
    case Binary::greater:
    case Binary::greater_equal: break;
  }
  return out;
}

}  // namespace

bool is_comparison(Binary op) { return op >= Binary::equal; }
std::string_view symbol(Binary op) { return kFacts[static_cast<size_t>(op)].symbol; }

Result<OperatorTypes> operator_types(Binary op, DType dtype) {
  OperatorTypes out{.kernel = kFacts[static_cast<size_t>(op)].kernel, .compute = dtype, .result = dtype};
  if (is_comparison(op)) {
    out.result = DType::boolean;
    out.inverted = op == Binary::not_equal;
  } else if (dtype == DType::boolean) {
    return of_booleans(op);
  } else if (is_bitwise(op) && !tensor::is_integer(dtype)) {
    return not_defined(op, dtype, "use integers or booleans");
  } else if (op == Binary::divide && tensor::is_integer(dtype)) {
    out.compute = out.result = DType::float64;
  }
  // Stored in 16 bits, computed in float32: its 24 bits of mantissa are enough that rounding twice is
  // rounding once.
  if (tensor::is_half_float(dtype)) out.compute = DType::float32;
  return out;
}

}  // namespace walle::array
