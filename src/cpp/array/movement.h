// Copies between layouts, and between element types: what assignments, astype and operations on views need.
#pragma once

#include "array/memory.h"
#include "array/promote.h"

namespace walle::array {

// to[...] = from, element by element. Precondition: equal shapes and dtypes; they do not overlap.
void copy(const Strided& from, const Strided& to);

// The elements in row-major order as `dtype`, in `out` of as many.
Status cast_into(const Strided& from, DType dtype, std::byte* out, Budget& budget);

// Whether element_of() takes every number of a dense int64 or float64 array; other dtypes always pass.
Status check_fits(const Strided& from, DType dtype);

// A dense copy.
Result<Tensor> astype(const Strided& from, DType dtype, Budget& budget);

// to[...] = from, repeated and cast as needed; views of the same memory may overlap.
Status assign(const Strided& to, const Strided& from, Budget& budget);
Status assign(const Strided& to, const Number& from);

}  // namespace walle::array
