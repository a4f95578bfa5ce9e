#include "raster/simplify.h"

#include <algorithm>
#include <tuple>

namespace walle::raster {

std::optional<Region> region_from_axes(int source, int64_t src, int64_t dst, std::vector<RegionAxis> axes) {
  std::erase_if(axes, [](const RegionAxis& a) { return a.size == 1; });
  for (RegionAxis& a : axes) {
    if (a.dst > 0 || (a.dst == 0 && a.src >= 0))
      continue;  // the destination is walked upwards, so that equal copies look equal
    src += a.src * (a.size - 1);
    dst += a.dst * (a.size - 1);
    a.src = -a.src;
    a.dst = -a.dst;
  }
  std::ranges::stable_sort(axes, [](const RegionAxis& a, const RegionAxis& b) {
    return std::tie(a.dst, a.src) > std::tie(b.dst, b.src);
  });
  std::vector<RegionAxis> merged;
  for (const RegionAxis& a : axes) {
    if (!merged.empty() && merged.back().src == a.src * a.size && merged.back().dst == a.dst * a.size)
      merged.back() = {merged.back().size * a.size, a.src, a.dst};
    else
      merged.push_back(a);
  }
  if (merged.size() > kRegionRank) return std::nullopt;
  Region r;
  r.source = source;
  r.rank = static_cast<int>(merged.size());
  r.src.offset = src;
  r.dst.offset = dst;
  for (size_t i = 0; i < merged.size(); ++i) {
    r.size[i] = merged[i].size;
    r.src.stride[i] = merged[i].src;
    r.dst.stride[i] = merged[i].dst;
  }
  return r;
}

namespace {
std::vector<RegionAxis> axes_of(const Region& r) {
  std::vector<RegionAxis> axes;
  for (size_t a = 0; a < static_cast<size_t>(r.rank); ++a)
    axes.push_back({r.size[a], r.src.stride[a], r.dst.stride[a]});
  return axes;
}

auto form(const Region& r) { return std::tie(r.source, r.rank, r.src.stride, r.dst.stride, r.size); }

// a directly followed by b along one axis, in both views, the other axes equal. A missing axis counts as
// size 1.
std::optional<Region> joined(const Region& a, const Region& b) {
  if (a.source != b.source || std::abs(a.rank - b.rank) > 1) return std::nullopt;
  const auto src = b.src.offset - a.src.offset;
  const auto dst = b.dst.offset - a.dst.offset;
  const Region& more = a.rank >= b.rank ? a : b;
  const Region& less = a.rank >= b.rank ? b : a;
  for (int axis = 0; axis < more.rank; ++axis) {
    const auto k = static_cast<size_t>(axis);
    bool same = true;
    for (int i = 0, j = 0; i < more.rank && same; ++i) {
      const auto m = static_cast<size_t>(i);
      if (i == axis && a.rank != b.rank) continue;
      const auto l = static_cast<size_t>(j++);
      same = more.src.stride[m] == less.src.stride[l] && more.dst.stride[m] == less.dst.stride[l] &&
             (i == axis || more.size[m] == less.size[l]);
    }
    if (!same) continue;
    const int64_t first = a.rank >= b.rank ? a.size[k] : 1;
    const int64_t second = a.rank > b.rank ? 1 : b.size[k];
    if (src != first * more.src.stride[k] || dst != first * more.dst.stride[k]) continue;
    auto axes = axes_of(more);
    axes[k].size = first + second;
    return region_from_axes(a.source, a.src.offset, a.dst.offset, std::move(axes));
  }
  return std::nullopt;
}

std::optional<Region> joined_either_way(const Region& a, const Region& b) {
  auto r = joined(a, b);
  return r ? r : joined(b, a);
}

constexpr size_t kAllPairs = 96;

bool join_all_pairs(std::vector<Region>& regions) {
  bool changed = false;
  for (size_t i = 0; i < regions.size(); ++i) {
    for (size_t j = i + 1; j < regions.size(); ++j) {
      const auto r = joined_either_way(regions[i], regions[j]);
      if (!r) continue;
      regions[i] = *r;
      regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(j));
      changed = true;
      --i;
      break;
    }
  }
  return changed;
}

// Only neighbours by destination: n^2 pairs would cost more than they save, and so would erasing from the
// middle.
bool join_adjacent(std::vector<Region>& regions) {
  size_t kept = 0;
  for (size_t i = 1; i < regions.size(); ++i) {
    if (const auto r = joined_either_way(regions[kept], regions[i]))
      regions[kept] = *r;
    else
      regions[++kept] = regions[i];
  }
  const bool changed = kept + 1 < regions.size();
  regions.resize(kept + 1);
  return changed;
}

bool join_neighbours(std::vector<Region>& regions) {
  return regions.size() <= kAllPairs ? join_all_pairs(regions) : join_adjacent(regions);
}

// Runs of regions of one form whose offsets advance by constant steps become one region with one more axis.
bool join_parallel(std::vector<Region>& regions) {
  std::ranges::sort(regions, [](const Region& a, const Region& b) {
    const auto fa = form(a), fb = form(b);
    return fa != fb ? fa < fb : std::tie(a.dst.offset, a.src.offset) < std::tie(b.dst.offset, b.src.offset);
  });
  std::vector<Region> out;
  for (size_t i = 0; i < regions.size();) {
    const Region& r = regions[i];
    size_t n = 1;
    while (i + n < regions.size() && form(regions[i + n]) == form(r) &&
           regions[i + n].dst.offset - regions[i + n - 1].dst.offset ==
               regions[i + 1].dst.offset - r.dst.offset &&
           regions[i + n].src.offset - regions[i + n - 1].src.offset ==
               regions[i + 1].src.offset - r.src.offset)
      ++n;
    if (n >= 2) {
      auto axes = axes_of(r);
      axes.push_back({static_cast<int64_t>(n), regions[i + 1].src.offset - r.src.offset,
                      regions[i + 1].dst.offset - r.dst.offset});
      if (const auto merged = region_from_axes(r.source, r.src.offset, r.dst.offset, std::move(axes))) {
        out.push_back(*merged);
        i += n;
        continue;
      }
    }
    out.push_back(r);
    ++i;
  }
  const bool changed = out.size() < regions.size();
  regions.swap(out);
  return changed;
}

void by_destination(std::vector<Region>& regions) {
  std::ranges::stable_sort(regions,
                           [](const Region& a, const Region& b) { return a.dst.offset < b.dst.offset; });
}
}  // namespace

int64_t simplify_steps(const Raster& raster) {
  const size_t n = raster.regions.size();
  return static_cast<int64_t>(n <= kAllPairs ? n * n / 16 : 16 * n);
}

void simplify(Raster& raster) {
  std::erase_if(raster.regions, [](const Region& r) { return r.elements() <= 0; });
  for (Region& r : raster.regions)
    if (const auto c = region_from_axes(r.source, r.src.offset, r.dst.offset, axes_of(r))) r = *c;
  if (!raster.accumulate) {  // summed regions may be equal on purpose
    std::ranges::sort(raster.regions, [](const Region& a, const Region& b) {
      return std::tuple(a.dst.offset, a.src.offset, form(a)) <
             std::tuple(b.dst.offset, b.src.offset, form(b));
    });
    const auto equal = [](const Region& a, const Region& b) {
      return form(a) == form(b) && a.src.offset == b.src.offset && a.dst.offset == b.dst.offset;
    };
    raster.regions.erase(std::unique(raster.regions.begin(), raster.regions.end(), equal),
                         raster.regions.end());
  }
  by_destination(raster.regions);
  for (int round = 0; round < 8 && raster.regions.size() > 1; ++round) {
    const bool joined_any = join_neighbours(raster.regions);
    const bool parallel = join_parallel(raster.regions);
    by_destination(raster.regions);
    if (!joined_any && !parallel) break;
  }
}

}  // namespace walle::raster
