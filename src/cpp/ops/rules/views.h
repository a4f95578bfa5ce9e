// Strided readings of one value as rasters, for decompositions that repeat, take diagonals or slide windows.
#pragma once

#include <span>

#include "ops/lower.h"

namespace walle::ops {

// A dense value of shape `out` with out[i] = r[offset + i . stride].
Ref strided_view(LowerContext& c, Ref r, const Shape& out, std::span<const Dim> stride, Dim offset = 0);
Ref strided_view(LowerContext& c, Ref r, const Shape& out, std::span<const int64_t> stride,
                 int64_t offset = 0);

// r repeated to `out` by the broadcasting rule; r itself when it has that shape.
Ref expand_to(LowerContext& c, Ref r, const Shape& out);

// r summed over the axes along which the broadcasting rule repeats a value of shape `to`: the adjoint of
// expand_to.
Ref sum_to(LowerContext& c, Ref r, const Shape& to);

// A per-channel vector (or a single element) as an operand
// that broadcasts along `axis` of a value of this rank.
Ref along_axis(LowerContext& c, Ref r, int axis, int rank);

// A value of zeros that takes no memory until it is run.
Ref zeros(LowerContext& c, DType dtype, const Shape& shape);

// 0, 1, ... n - 1.
Ref iota(LowerContext& c, DType dtype, Dim n);

// start, start + step, ... of an integer dtype, `count` of them, cut from a table that the plan keeps: a
// class of shapes has no constant for each of its sizes. The class ends where the table does.
// Preconditions: start >= 0, step > 0, count > 0, and their end is a size that a table may have.
Ref counted(LowerContext& c, DType dtype, Dim start, Dim step, Dim count);

// A constant of `dtype` (float32, float64 or an integer type) from doubles.
Ref constant_of(LowerContext& c, DType dtype, const Shape& shape, std::span<const double> values);

}  // namespace walle::ops
