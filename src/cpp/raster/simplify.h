// Horizontal merge within one raster: fewer regions that copy the same elements.
#pragma once

#include "raster/region.h"

namespace walle::raster {

struct RegionAxis {
  int64_t size, src, dst;
};

// The canonical region of these axes; nullopt when more than kRegionRank remain after merging contiguous
// ones.
std::optional<Region> region_from_axes(int source, int64_t src, int64_t dst, std::vector<RegionAxis> axes);

// Canonical regions; equal ones once (unless they sum), neighbours joined into one longer box, parallel ones
// with constant offset steps made one region with one more axis; ordered by destination.
void simplify(Raster& raster);

// What that takes: of few regions all pairs are tried, many are sorted several times. In steps of
// base::kMaxMergeSteps.
int64_t simplify_steps(const Raster& raster);

}  // namespace walle::raster
