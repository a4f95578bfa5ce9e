// Where a raster writes nothing: so that a fill touches only what needs it.
#pragma once

#include "raster/region.h"

namespace walle::raster {

// Where no region writes, as regions whose two views are the same (run by run); for the fill. nullopt: not
// expressible within `limit` regions, or a region overlaps itself. The caller then fills everything first,
// which is right at any time and only writes the covered elements twice.
std::optional<std::vector<Region>> uncovered(const Raster& raster, Dim dst_elements, size_t limit);

}  // namespace walle::raster
