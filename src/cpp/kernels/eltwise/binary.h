// Element-wise functions of two operands with broadcasting: the reference kernels.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/eltwise/broadcast.h"
#include "tensor/dtype.h"

namespace walle::kernels {

enum class BinaryKind : uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  fmod,
  power,
  min,
  max,
  prelu,  // T, T -> T
  logical_and,
  logical_or,
  logical_xor,  // bool
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  // integers
  equal,
  greater,
  greater_equal,
  less,
  less_equal,  // T, T -> bool
};

// The kind of an operator name; `fmod` and `left` are what the attributes of Mod and BitShift say.
std::optional<BinaryKind> binary_kind(std::string_view op, bool fmod, bool left);

bool binary_supports(BinaryKind kind, DType dtype);

// out[begin, end) of a dense result. Integers wrap; division by zero gives 0; Min and Max pass NaN on, as
// NumPy does. Precondition: binary_supports(); `b` has two operands.
void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end);

namespace detail {
void run_arithmetic(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                    int64_t begin, int64_t end);
void run_compare(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end);
void run_bits(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
              int64_t begin, int64_t end);
}  // namespace detail

}  // namespace walle::kernels
