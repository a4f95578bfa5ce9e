// A value as the digits of its row-major index: where each element is found, when a raster that made the
// value is not run and its source is read instead.
#pragma once

#include <optional>

#include "ops/program.h"

namespace walle::ops {

// One more of this digit is `step` elements further. Steps of 0 repeat.
struct IndexDigit {
  Dim size;
  Dim step;
};
using IndexDigits = std::vector<IndexDigit>;  // lightest first; sizes of 1 are left out

struct ValueDigits {
  Dim offset = 0;
  IndexDigits digits;
};

ValueDigits dense_digits(Dim elements);
// Of a raster's result, in elements of its only source; nullopt: it fills, sums, or takes several pieces.
std::optional<ValueDigits> digits_of_raster(const raster::Raster& raster, Dim elements);

// Digits axis by axis, last axis first; nullopt where an axis ends within a digit.
std::optional<std::vector<IndexDigits>> digits_by_axis(IndexDigits digits, const Shape& shape);
// The stride of an axis whose digits make even steps; nullopt for others.
std::optional<Dim> even_stride(const IndexDigits& axis);

// Strides of several operands over the same index, whose digits differ: the fewest axes in which each has one
// stride. false where they do not nest.
bool refine(std::vector<IndexDigits> operands, std::vector<Dim>& sizes,
            std::vector<std::vector<Dim>>& strides);

}  // namespace walle::ops
