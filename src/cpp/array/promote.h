// Which element type an operation of two operands has: NumPy's rules since 2.0 (NEP 50), where Python's own
// numbers are weak: they take the type of the array unless their kind is higher.
#pragma once

#include "tensor/dtype.h"

namespace walle::array {

// A number of Python's, as wide as it may be.
struct Number {
  enum class Kind : uint8_t { boolean, integer, real };
  // How an integer lies to int64: in it, above it but in uint64 (`integer` holds the bits), above, or below.
  enum class Range : uint8_t { int64, uint64, above, below };
  Kind kind = Kind::integer;
  Range range = Range::int64;
  int64_t integer = 0;  // also boolean
  double real = 0;
};

// The type both can be cast to. Pairs that only float64 can hold (int64 and uint64) become that.
DType promote(DType a, DType b);
DType promote(DType array, Number::Kind weak);

// One element of any dtype.
struct Element {
  alignas(8) std::byte bytes[8];
};

// `number` as an element. An error (kind overflow) for an integer beyond the dtype; a real number loses its
// fraction on the way to an integer, as in NumPy's assignments.
Result<Element> element_of(const Number& number, DType dtype);

// NumPy's casting="same_kind": what an in-place operation may write where.
bool can_cast_same_kind(DType from, DType to);

}  // namespace walle::array
