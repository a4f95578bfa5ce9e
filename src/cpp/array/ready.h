// An operand in the element type that a kernel works in: read where it lies if it is of that type, and cast
// into memory of the operation's own otherwise.
#pragma once

#include <optional>

#include "array/memory.h"
#include "array/operand.h"
#include "array/operator_types.h"
#include "kernels/eltwise/broadcast.h"
#include "kernels/isa.h"

namespace walle::array {

// Not moved: `layout` may be its own.
struct Ready {
  Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  static inline const Layout kNumber{};
  const std::byte* data = nullptr;
  const Layout* layout = &kNumber;
  Element element;
  Scratch scratch;
  Layout own;  // of the scratch

  // What a run along all elements of `shape` walks by: 0 for a number, 1 for a dense array of that shape.
  std::optional<int64_t> one_step(const Shape& shape) const;
};

// A number goes through the 16 bits that a result of half floats has: 70000 is infinite in float16.
Status make_ready(const Operand& operand, const OperatorTypes& types, Budget& budget, Ready& out);

// NumPy's rules for two operands, of which one at least is an array.
Result<Shape> shape_of(const Operand& x, const Operand& y);
DType dtype_of(const Operand& x, const Operand& y);

// The instruction set of eager operations. Asked for once: reading the environment takes as long as adding
// eight numbers.
kernels::Isa chosen_isa();

}  // namespace walle::array
