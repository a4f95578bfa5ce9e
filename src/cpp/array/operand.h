// One side of an operation.
#pragma once

#include "array/promote.h"
#include "tensor/strided.h"

namespace walle::array {

// An array or a number of Python's.
struct Operand {
  const Strided* array = nullptr;  // nullptr: the number
  Number number;
};

}  // namespace walle::array
