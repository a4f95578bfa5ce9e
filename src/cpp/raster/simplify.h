// Horizontal merge within one raster: fewer regions that copy the same elements.
//
// Two rules, each the merging of axes (raster/canonical.h) read backwards:
//   join       two boxes of equal strides and equal other axes, the second starting in both views where one
//              more step of axis a would have led: together they are one box with a longer axis a
//   parallel   n boxes equal but for their offsets, which advance by the same steps in both views: an axis of
//              n such steps says the same
// Both hold whatever the strides are, zero and negative ones included, because they speak of the pairs alone.
// Greedy and not exhaustive: the fewest boxes for a set of pairs is a covering problem, hard in general,
// while splits, pads and concats leave grids, which these rules undo.
#pragma once

#include "raster/canonical.h"

namespace walle::raster {

// Canonical regions; equal ones once (unless they sum), neighbours joined into one longer box, parallel ones
// with constant offset steps made one region with one more axis; ordered by destination.
void simplify(Raster& raster);

// What that takes: of few regions all pairs are tried, many are sorted several times. In steps of
// base::kMaxMergeSteps.
int64_t simplify_steps(const Raster& raster);

}  // namespace walle::raster
