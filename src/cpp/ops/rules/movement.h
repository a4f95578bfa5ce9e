// What movement operators share: boxes between row-major
// tensors, axis lists, fills, and integer inputs while lowering.
#pragma once

#include <span>
#include <vector>

#include "ops/lower.h"

namespace walle::ops {

// Where a box lies in a row-major tensor: its first element
// and its step per axis (negative: walked backwards).
struct Placed {
  const Shape& shape;
  std::span<const Dim> start;
  std::span<const Dim> step = {};  // empty: 1 everywhere
};

// The region that copies a box of `size` from one place to another. All ranks are equal.
raster::Region box_region(int source, const Shape& size, const Placed& from, const Placed& to);

// Axes normalised to [0, rank), each at most once.
Result<std::vector<int>> unique_axes(std::span<const int64_t> axes, int rank);

// The first element of `value` as a fill.
raster::Fill fill_of(const Tensor& value);

// Input i of the operator being lowered, an integer tensor known
// while planning (the shape rule needed it); empty when omitted.
Result<std::vector<int64_t>> ints_of(const LowerContext& c, int i);
// The same of sizes, which may be symbols.
Result<std::vector<Dim>> dims_of(const LowerContext& c, int i);

// Result 0 is this raster of input 0.
void result_raster(LowerContext& c, raster::Raster raster);

}  // namespace walle::ops
