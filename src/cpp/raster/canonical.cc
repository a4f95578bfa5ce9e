#include "raster/canonical.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace walle::raster {

namespace {
// Only neighbours are tried: after sorting by destination stride, an axis between two that could merge would
// interleave with them, which movement seldom does. A pair kept apart costs an axis, never a wrong element.
std::vector<RegionAxis> merge_contiguous(const std::vector<RegionAxis>& axes) {
  std::vector<RegionAxis> merged;
  for (const RegionAxis& a : axes) {
    if (!merged.empty() && merged.back().src == a.src * a.size && merged.back().dst == a.dst * a.size)
      merged.back() = {merged.back().size * a.size, a.src, a.dst};
    else
      merged.push_back(a);
  }
  return merged;
}

// Precondition: no more axes than kRegionRank.
Region assemble(int source, Dim src, Dim dst, const std::vector<RegionAxis>& axes) {
  Region r;
  r.source = source;
  r.rank = static_cast<int>(axes.size());
  r.src.offset = src;
  r.dst.offset = dst;
  for (int a = 0; a < r.rank; ++a) {
    r.size[a] = axes[a].size;
    r.src.stride[a] = axes[a].src;
    r.dst.stride[a] = axes[a].dst;
  }
  return r;
}

void drop_unit_axes(std::vector<RegionAxis>& axes) {
  std::erase_if(axes, [](const RegionAxis& a) { return a.size == 1; });
}
}  // namespace

std::vector<RegionAxis> axes_of(const Region& region) {
  std::vector<RegionAxis> axes;
  for (int a = 0; a < region.rank; ++a)
    axes.push_back({region.size[a], region.src.stride[a], region.dst.stride[a]});
  return axes;
}

Region canonical(const Region& region) {
  std::vector<RegionAxis> axes = axes_of(region);
  drop_unit_axes(axes);
  std::ranges::stable_sort(axes,
                           [](const RegionAxis& a, const RegionAxis& b) { return abs(a.dst) > abs(b.dst); });
  return assemble(region.source, region.src.offset, region.dst.offset, merge_contiguous(axes));
}

std::optional<Region> region_from_axes(int source, Dim src, Dim dst, std::vector<RegionAxis> axes) {
  drop_unit_axes(axes);
  for (RegionAxis& a : axes) {
    // A destination stride of 0 (a sum) has no direction; the source then decides, so that there still is one
    // form only.
    if (a.dst > 0 || (a.dst == 0 && a.src >= 0)) continue;
    src += a.src * (a.size - 1);
    dst += a.dst * (a.size - 1);
    a.src = -a.src;
    a.dst = -a.dst;
  }
  std::ranges::stable_sort(axes, [](const RegionAxis& a, const RegionAxis& b) {
    return std::tie(a.dst, a.src) > std::tie(b.dst, b.src);
  });
  const std::vector<RegionAxis> merged = merge_contiguous(axes);
  if (merged.size() > kRegionRank) return std::nullopt;
  return assemble(source, src, dst, merged);
}

std::optional<Dim> as_alias(const Raster& raster, Dim elements) {
  if (raster.regions.size() != 1 || raster.accumulate) return std::nullopt;
  const Region r = canonical(raster.regions[0]);
  // As many elements as the destination has, in one run of stride 1 from its start: nothing is left for a
  // fill. The source may be larger; what is behind the run is simply not part of the window.
  if (r.dst.offset != 0 || r.elements() != elements) return std::nullopt;
  if (r.rank == 0) return r.src.offset;  // a single element is a run whatever its strides were
  if (r.rank == 1 && r.src.stride[0] == 1 && r.dst.stride[0] == 1) return r.src.offset;
  return std::nullopt;
}

}  // namespace walle::raster
