// The canonical form of one region: the same pairs of elements, described with as few axes as possible.
//
// Every step is a bijection of the index vectors, so the pairs stay what they were:
//   drop a unit axis   its index is always 0 and adds nothing
//   turn an axis       i -> size - 1 - i; the offset moves to the other end and the stride changes its sign
//   order the axes     a sum of terms does not depend on their order
//   merge two axes     strides (s * n, s) over sizes (m, n) in both views: i * n + j counts 0 .. m * n - 1
//                      once each, which is one axis of m * n steps of s
// The last step is what layout algebras call coalescing (CuTe, "Layout algebra", CUTLASS documentation); here
// both views must allow it at once.
//
// The form is not unique for every set of pairs (two axes that interleave in the destination may be told in
// several ways), so equal forms prove equal regions and different forms prove nothing: prove_equal() of
// raster/algebra.h is the stronger question.
#pragma once

#include "raster/region.h"

namespace walle::raster {

struct RegionAxis {
  Dim size, src, dst;
};

std::vector<RegionAxis> axes_of(const Region& region);

// Drops unit axes, orders by destination stride (largest first), merges axes that are contiguous in both
// views. Directions stay as the operator gave them: lowering asks for this form region by region, and what
// compares regions with each other (raster/simplify.h) asks for the next one.
Region canonical(const Region& region);

// The canonical region of these axes, each turned so that the destination is walked upwards: equal copies
// look equal whichever way they were described. nullopt when more than kRegionRank remain after merging.
std::optional<Region> region_from_axes(int source, Dim src, Dim dst, std::vector<RegionAxis> axes);

// When the raster is one contiguous run of source 0 covering all `elements` of the destination: the run's
// source offset. Such a raster needs no copy; its result is a window of the source's memory.
std::optional<Dim> as_alias(const Raster& raster, Dim elements);

}  // namespace walle::raster
