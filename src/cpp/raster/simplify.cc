#include "raster/simplify.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace walle::raster {

namespace {

// Up to this many regions every pair is tried for a join, beyond it only neighbours by destination. Chosen,
// not measured: 96 * 95 / 2 tries of a few comparisons each, for rasters of tens of regions as a split into
// 16 and its concat make them.
constexpr size_t kAllPairs = 96;

// Each round joins along one more axis of a grid of boxes, and a region has no more axes than this. It ends
// sooner when a round changes nothing.
constexpr int kRounds = kRegionRank;

// One step of base::kMaxMergeSteps is a look at one piece of a box (raster/cutter.h), which walks and copies
// its axes. A try of a join that fails, as most do, compares a few numbers: a share of a step, estimated. Of
// many regions each is sorted twice a round.
constexpr size_t kTriesPerStep = 16;
constexpr size_t kSortingSteps = 2 * kRounds;

// Everything of a region but its offsets: two of one form are the same box at two places.
auto form(const Region& r) { return std::tie(r.source, r.rank, r.src.stride, r.dst.stride, r.size); }

// True when the axes of `more` are those of `less`, sizes on `axis` aside. A `less` of one axis fewer has
// size 1 there.
bool same_but_for(const Region& more, const Region& less, int axis) {
  const bool missing = more.rank != less.rank;
  for (int m = 0; m < more.rank; ++m) {
    if (m == axis && missing) continue;
    const int l = m - (missing && m > axis);
    if (more.src.stride[m] != less.src.stride[l] || more.dst.stride[m] != less.dst.stride[l] ||
        (m != axis && more.size[m] != less.size[l]))
      return false;
  }
  return true;
}

// a directly followed by b along one axis, in both views, the other axes equal. A missing axis counts as
// size 1.
std::optional<Region> joined(const Region& a, const Region& b) {
  if (a.source != b.source || std::abs(a.rank - b.rank) > 1) return std::nullopt;
  const Dim src = b.src.offset - a.src.offset;
  const Dim dst = b.dst.offset - a.dst.offset;
  const Region& more = a.rank >= b.rank ? a : b;
  const Region& less = a.rank >= b.rank ? b : a;
  for (int axis = 0; axis < more.rank; ++axis) {
    if (!same_but_for(more, less, axis)) continue;
    const Dim first = a.rank >= b.rank ? a.size[axis] : Dim(1);
    const Dim second = a.rank > b.rank ? Dim(1) : b.size[axis];
    if (src != first * more.src.stride[axis] || dst != first * more.dst.stride[axis]) continue;
    auto axes = axes_of(more);
    axes[axis].size = first + second;
    return region_from_axes(a.source, a.src.offset, a.dst.offset, std::move(axes));
  }
  return std::nullopt;
}

std::optional<Region> joined_either_way(const Region& a, const Region& b) {
  auto r = joined(a, b);
  return r ? r : joined(b, a);
}

// After a join the same region is tried again from its new extent: a run of n boxes folds up in one pass.
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
// middle. Precondition: at least one region.
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

// How many regions from the first on have its form and lie as far apart as the first two.
size_t run_length(std::span<const Region> regions) {
  const auto advances_alike = [&](const Region& before, const Region& r) {
    return r.dst.offset - before.dst.offset == regions[1].dst.offset - regions[0].dst.offset &&
           r.src.offset - before.src.offset == regions[1].src.offset - regions[0].src.offset;
  };
  size_t n = 1;
  while (n < regions.size() && form(regions[n]) == form(regions[0]) &&
         advances_alike(regions[n - 1], regions[n]))
    ++n;
  return n;
}

// Runs of regions of one form whose offsets advance by constant steps become one region with one more axis.
// Sorting by form puts what can be a run together, sorting by destination within it puts it in order; the
// source steps must then agree by themselves. Two regions of one form are always a run: a pair that joins
// with nothing else is still one region instead of two.
bool join_parallel(std::vector<Region>& regions) {
  std::ranges::sort(regions, [](const Region& a, const Region& b) {
    const auto fa = form(a);
    const auto fb = form(b);
    return fa != fb ? fa < fb : std::tie(a.dst.offset, a.src.offset) < std::tie(b.dst.offset, b.src.offset);
  });
  std::vector<Region> out;
  for (size_t i = 0; i < regions.size();) {
    const Region& r = regions[i];
    const size_t n = run_length(std::span(regions).subspan(i));
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

// A region said twice copies the same bytes twice; who makes regions need not look for that.
void drop_repeated(std::vector<Region>& regions) {
  std::ranges::sort(regions, [](const Region& a, const Region& b) {
    return std::tuple(a.dst.offset, a.src.offset, form(a)) < std::tuple(b.dst.offset, b.src.offset, form(b));
  });
  const auto equal = [](const Region& a, const Region& b) {
    return form(a) == form(b) && a.src.offset == b.src.offset && a.dst.offset == b.dst.offset;
  };
  regions.erase(std::unique(regions.begin(), regions.end(), equal), regions.end());
}
}  // namespace

int64_t simplify_steps(const Raster& raster) {
  const size_t n = raster.regions.size();
  return static_cast<int64_t>(n <= kAllPairs ? n * n / kTriesPerStep : kSortingSteps * n);
}

void simplify(Raster& raster) {
  std::erase_if(raster.regions, [](const Region& r) { return r.elements() <= 0; });
  for (Region& r : raster.regions)
    if (const auto c = region_from_axes(r.source, r.src.offset, r.dst.offset, axes_of(r))) r = *c;
  if (!raster.accumulate) drop_repeated(raster.regions);  // summed regions may be equal on purpose
  by_destination(raster.regions);
  for (int round = 0; round < kRounds && raster.regions.size() > 1; ++round) {
    const bool joined_any = join_neighbours(raster.regions);
    const bool parallel = join_parallel(raster.regions);
    by_destination(raster.regions);
    if (!joined_any && !parallel) break;
  }
}

}  // namespace walle::raster
