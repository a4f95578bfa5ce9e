// Vertical merge: a raster that reads a tensor another raster wrote becomes one raster that reads the
// latter's sources.
//
// With outer: out[d(i)] = mid[a(i)] and inner: mid[e(j)] = in[s(j)], the merged raster is out[d(i)] =
// in[s(j)] for every i whose a(i) is some e(j). The destination view e is a number system of addresses
// (raster/digits.h), so that j is found by division; the box of i is cut until every quotient is affine in i
// (raster/cutter.h), and s(j(i)) is then a view again. The cuts keep boxes: an axis that walks over a whole
// period of a digit is split in two (reshape), one that leaves the inner box is clipped (slice, pad), and two
// axes that share a clipped digit (sliding windows) are unrolled along the shorter one.
#pragma once

#include "raster/region.h"

namespace walle::raster {

// `outer` with its source replaced by `inner`'s, for those of its elements that `inner` wrote: disjoint
// regions whose `source` is inner.source. nullopt: not expressible within `limit` regions, or inner's
// destination view is no number system (it overlaps itself). Both forms take what they do from `steps` and
// give up when it is spent: hostile rasters could be cut for hours.
std::optional<std::vector<Region>> compose(const Region& outer, const Region& inner, size_t limit,
                                           int64_t& steps);

// `outer` where source `through` is read directly from inner's sources; inner's source s becomes source_base
// + s, the other sources keep their numbers. nullopt: not expressible (accumulating inner, two fill values)
// or more than `limit` regions. The result is simplified only when it has to be to keep to the limit: a
// caller with several sources to merge simplifies once, after the last.
std::optional<Raster> compose(const Raster& outer, int through, const Raster& inner, int source_base,
                              size_t limit, int64_t& steps);

// With steps of their own: base::kMaxMergeSteps for the call.
std::optional<std::vector<Region>> compose(const Region& outer, const Region& inner, size_t limit);
std::optional<Raster> compose(const Raster& outer, int through, const Raster& inner, int source_base,
                              size_t limit);

}  // namespace walle::raster
