#include "raster/algebra.h"

#include <algorithm>

#include "raster/compose.h"
#include "raster/simplify.h"

namespace walle::raster {

namespace {
constexpr size_t kLimit = 1024;

Region swapped(const Region& r) {
  Region s = r;
  s.source = 0;
  std::swap(s.src, s.dst);
  return s;
}

// dst[x] = src[x] wherever it copies.
bool is_identity(const Region& r) {
  if (r.src.offset != r.dst.offset) return false;
  for (size_t a = 0; a < static_cast<size_t>(r.rank); ++a)
    if (r.size[a] > 1 && r.src.stride[a] != r.dst.stride[a]) return false;
  return true;
}

int64_t total(const Raster& raster) {
  int64_t n = 0;
  for (const Region& r : raster.regions) n += r.elements();
  return n;
}

// Every element a writes is written by b from the same place. `swapped(ra)` reads a's destinations in step
// with a's sources; composed with b it pairs b's sources with a's.
bool covered_alike(const Raster& a, const Raster& b) {
  for (const Region& ra : a.regions) {
    int64_t found = 0;
    for (const Region& rb : b.regions) {
      const auto pairs = compose(swapped(ra), rb, kLimit);
      if (!pairs) return false;
      for (const Region& p : *pairs) {
        if (rb.source != ra.source || !is_identity(p)) return false;
        found += p.elements();
      }
    }
    if (found != ra.elements()) return false;
  }
  return true;
}
}  // namespace

bool prove_equal(const Raster& a, const Raster& b) {
  if (a.accumulate || b.accumulate || a.fill.has_value() != b.fill.has_value()) return false;
  if (a.fill && a.fill->bytes != b.fill->bytes) return false;
  return total(a) == total(b) && covered_alike(a, b);
}

std::optional<Raster> invert(const Raster& raster, int64_t src_elements, int64_t dst_elements) {
  if (raster.accumulate || raster.fill || src_elements != dst_elements || total(raster) != src_elements)
    return std::nullopt;
  Raster back;
  for (const Region& r : raster.regions) {
    if (r.source != 0) return std::nullopt;
    back.regions.push_back(swapped(r));
  }
  // Onto and one-to-one: as many elements as the source has, none of them met twice.
  if (!disjoint_destinations(back) || !disjoint_destinations(raster)) return std::nullopt;
  simplify(back);
  return back;
}

bool disjoint_destinations(const Raster& raster) {
  for (size_t i = 0; i < raster.regions.size(); ++i) {
    const Region& r = raster.regions[i];
    // Against itself: compose refuses views that overlap themselves.
    Region nothing = contiguous_region(0, 1, -1);
    nothing.src.offset = r.dst.offset;
    if (!compose(nothing, r, kLimit)) return false;
    for (size_t j = 0; j < i; ++j) {
      const auto meet = compose(swapped(raster.regions[j]), r, kLimit);
      if (!meet || !meet->empty()) return false;
    }
  }
  return true;
}

namespace {
// The complement of one region's destination: before it, after it, and behind every step of every axis.
std::optional<std::vector<Region>> complement(const Region& r, int64_t elements) {
  struct Level {
    int64_t unit, size;
  };
  std::vector<Level> levels;
  int64_t base = r.dst.offset;
  for (size_t a = 0; a < static_cast<size_t>(r.rank); ++a) {
    if (r.size[a] == 1) continue;
    if (r.dst.stride[a] < 0) base += r.dst.stride[a] * (r.size[a] - 1);
    levels.push_back({std::abs(r.dst.stride[a]), r.size[a]});
  }
  std::ranges::sort(levels, [](const Level& a, const Level& b) { return a.unit > b.unit; });
  std::vector<Region> gaps;
  const auto gap = [&](size_t depth, int64_t from, int64_t length) {
    std::vector<RegionAxis> axes{{length, 1, 1}};
    for (size_t l = 0; l < depth; ++l) {
      const int64_t size = l + 1 == depth ? levels[l].size - 1
                                          : levels[l].size;  // behind the last step the outer axis goes on
      axes.push_back({size, levels[l].unit, levels[l].unit});
    }
    const auto region = region_from_axes(0, from, from, std::move(axes));
    if (region) gaps.push_back(*region);
    return region.has_value();
  };
  int64_t extent = 1;  // of one step of the axis at hand
  for (size_t l = levels.size(); l-- > 0;) {
    if (extent > levels[l].unit) return std::nullopt;
    if (levels[l].unit > extent && !gap(l + 1, base + extent, levels[l].unit - extent)) return std::nullopt;
    extent += (levels[l].size - 1) * levels[l].unit;
  }
  if (base > 0) gap(0, 0, base);
  if (base + extent < elements) gap(0, base + extent, elements - base - extent);
  return gaps;
}
}  // namespace

std::optional<std::vector<Region>> uncovered(const Raster& raster, int64_t dst_elements, size_t limit) {
  std::vector<Region> left;
  if (dst_elements > 0) left.push_back(contiguous_region(0, dst_elements));
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

Raster adjoint(const Raster& raster, int source) {
  Raster out;
  out.fill = Fill{};
  for (const Region& r : raster.regions)
    if (r.source == source) out.regions.push_back(swapped(r));
  out.accumulate = out.regions.size() > kLimit || !disjoint_destinations(out);
  simplify(out);
  return out;
}

}  // namespace walle::raster
