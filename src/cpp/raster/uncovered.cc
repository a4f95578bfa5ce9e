#include "raster/uncovered.h"

#include "raster/compose.h"
#include "raster/digits.h"
#include "raster/simplify.h"

namespace walle::raster {

namespace {
// The addresses of a tensor that one region leaves out, as identity regions.
//
// By its digits the region is a block of one element, repeated at the lightest unit, the result repeated at
// the next one, and so on. Each repetition leaves the same gap of (unit - extent) behind every copy but the
// last - what follows the last belongs to the next heavier digit's gap - and that gap is repeated by all
// heavier digits. Before the first and behind the last element of all lies one run each. These are disjoint
// and, with the region, everything.
std::optional<std::vector<Region>> complement(const Region& r, Dim elements) {
  const auto digits = digits_of(r);
  if (!digits) return std::nullopt;
  std::vector<Region> gaps;
  // A run of `length` from address `from`, for every value of the `depth` heaviest digits; the last of them
  // has no gap behind its last value. False when that takes more axes than a region has.
  const auto gap = [&](size_t depth, Dim from, Dim length) {
    std::vector<RegionAxis> axes{{length, 1, 1}};
    for (size_t d = 0; d < depth; ++d) {
      const Digit& digit = digits->list[d];
      const bool lightest = d + 1 == depth;
      axes.push_back({lightest ? Dim(digit.size - 1) : digit.size, digit.unit, digit.unit});
    }
    const auto region = region_from_axes(0, from, from, std::move(axes));
    if (region) gaps.push_back(*region);
    return region.has_value();
  };
  const Dim begin = digits->dst;
  Dim extent = 1;  // of one value of the digit at hand
  for (size_t d = digits->list.size(); d-- > 0;) {
    const Digit& digit = digits->list[d];
    if (digit.unit > extent && !gap(d + 1, begin + extent, digit.unit - extent)) return std::nullopt;
    extent += (digit.size - 1) * digit.unit;
  }
  if (begin > 0) gap(0, 0, begin);
  if (begin + extent < elements) gap(0, begin + extent, elements - begin - extent);
  return gaps;
}
}  // namespace

// What no region covers is the intersection of what each leaves out (De Morgan). Two identity regions
// compose to the identity on the addresses that both have: their intersection. What is left shrinks from
// region to region, and is cut finer.
std::optional<std::vector<Region>> uncovered(const Raster& raster, Dim dst_elements, size_t limit) {
  std::vector<Region> left;
  if (dst_elements > 0) left.push_back(contiguous_region(0, dst_elements));
  // Each region takes a composition of everything left so far: more regions than the answer may have are not
  // worth asking about.
  if (raster.regions.size() > limit) return std::nullopt;
  for (const Region& r : raster.regions) {
    if (r.elements() <= 0) continue;
    const auto outside = complement(r, dst_elements);
    if (!outside) return std::nullopt;
    std::vector<Region> next;
    for (const Region& l : left)
      for (const Region& o : *outside) {
        const auto meet = compose(l, o, limit);
        if (!meet || next.size() + meet->size() > limit) return std::nullopt;
        next.insert(next.end(), meet->begin(), meet->end());
      }
    left.swap(next);
  }
  Raster joined;
  joined.regions = std::move(left);
  simplify(joined);
  return joined.regions;
}

}  // namespace walle::raster
