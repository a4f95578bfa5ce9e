// The operators of Python's data model that arrays have, and functions by element beside them.
#pragma once

#include <cstdint>

namespace walle::array {

// The order is part of the VM's boundary (vm/abi.h).
enum class Binary : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  power,
  bit_and,
  bit_or,
  bit_xor,
  left_shift,
  right_shift,
  maximum,
  minimum,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
};
enum class Unary : uint8_t { negative, absolute, invert, exp, log };

}  // namespace walle::array
