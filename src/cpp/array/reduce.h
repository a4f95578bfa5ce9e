// Reductions along axes, as NumPy's methods of the same names.
#pragma once

#include "array/memory.h"

namespace walle::array {

// The order is part of the VM's boundary (vm/abi.h).
enum class Reduction : uint8_t { sum, prod, mean, min, max, any, all, argmin, argmax };

struct Axes {
  uint32_t mask = 0;  // bit i: axis i is reduced
  bool keep = false;  // as axes of one element
};

// Integers are summed in 64 bits, their mean is float64; argmin and argmax are int64, of one axis or of all
// in row-major order. Errors: min, max, argmin and argmax of no elements; memory.
Result<Tensor> reduce(Reduction op, const Strided& x, Axes axes, Budget& budget);

}  // namespace walle::array
