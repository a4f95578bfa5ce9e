// The vector versions of the element-wise kinds, by kind.
#pragma once

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/eltwise_table.h"
#include "kernels/eltwise/unary.h"
#include "kernels/isa.h"

namespace walle::kernels {

const EltwiseTable& eltwise_table(Isa isa);

// nullptr: this kind has no vector version. `params` is changed to what the vector version takes.
UnaryF32 unary_f32(UnaryKind kind, Isa isa, UnaryParams& params);
BinaryF32 binary_f32(BinaryKind kind, Isa isa);

// The inner run of every operand is dense or one repeated value.
bool simple_runs(const Broadcast& b);

}  // namespace walle::kernels
