// In which element type an operator works, and by which kernel.
#pragma once

#include <string_view>

#include "array/operators.h"
#include "tensor/kinds.h"

namespace walle::array {

struct OperatorTypes {
  BinaryKind kernel = BinaryKind::add;
  DType compute = DType::undefined;  // of both operands of the kernel
  DType result = DType::undefined;   // of the array that comes out
  bool inverted = false;             // not_equal: the kernel's answer, turned round
};

// `dtype`: what promote() says of the operands. An error (kind wrong_type) where NumPy has no such loop.
Result<OperatorTypes> operator_types(Binary op, DType dtype);

bool is_comparison(Binary op);
std::string_view symbol(Binary op);

}  // namespace walle::array
