// Statements about whole rasters: equality, inverse, adjoint, disjointness.
//
// A raster without fill is a matrix of zeros and ones between the elements of its sources and those of its
// destination, one 1 for each pair. Exchanging the views transposes it, composing multiplies (where nothing
// sums), and everything here is one of these two followed by counting. Answers are proofs one way: "yes" is
// shown, "no" may mean not shown.
#pragma once

#include "raster/region.h"

namespace walle::raster {

// Both write the same elements from the same places. True is a proof; false means "not proved" (different,
// overlapping or too irregular to cut).
bool prove_equal(const Raster& a, const Raster& b);

// The raster that takes the destination (`dst_elements`) back to source 0 (`src_elements`), for rasters that
// are one-to-one and onto; nullopt otherwise.
std::optional<Raster> invert(const Raster& raster, Dim src_elements, Dim dst_elements);

// The transposed linear map with respect to `source`: from the gradient of the destination (source 0 of the
// result) to the gradient of that source. Views are swapped, what was repeated is summed, what was not read
// gets zero. Sums only where the swapped regions can meet (accumulate), so that the gradient of a transpose
// is a plain copy.
Raster adjoint(const Raster& raster, int source);

// No element of the destination is written twice: proved per region by its strides, between regions by
// intersection.
bool disjoint_destinations(const Raster& raster);

}  // namespace walle::raster
