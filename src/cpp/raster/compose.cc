#include "raster/compose.h"

#include "base/limits.h"
#include "raster/cutter.h"
#include "raster/simplify.h"

namespace walle::raster {

namespace {

// Regions that a merge may hold before it has to join them, as a multiple of what it may end with. Parts of a
// split and concat often join again; chosen, not measured: far beyond it joining seldom comes back below.
constexpr size_t kSlack = 4;

Piece piece_of(const Region& outer) {
  Piece p;
  p.rest = outer.src.offset;
  p.dst = outer.dst.offset;
  for (int a = 0; a < outer.rank; ++a) {
    if (outer.size[a] == 1) continue;
    PieceAxis axis{.size = outer.size[a], .rest = outer.src.stride[a], .src = 0, .dst = outer.dst.stride[a]};
    if (axis.rest < 0) {  // walk the other way, so that digits only grow
      p.rest += axis.rest * (axis.size - 1);
      p.dst += axis.dst * (axis.size - 1);
      axis.rest = -axis.rest;
      axis.dst = -axis.dst;
    }
    p.axes.push_back(axis);
  }
  return p;
}

// Axes merged where both views are contiguous; nullopt when more than kRegionRank remain.
std::optional<Region> region_of(const Piece& p, int source) {
  std::vector<RegionAxis> axes;
  for (const PieceAxis& a : p.axes) axes.push_back({a.size, a.src, a.dst});
  return region_from_axes(source, p.src, p.dst, std::move(axes));
}

bool is_empty(const Region& r) { return r.elements() <= 0; }

// The lowest and the highest address of a view. Two views whose reaches are apart share no element; asking
// this first makes merging a split with a concat cost a comparison for most of its pairs of regions.
struct Reach {
  Dim low, high;
  bool meets(const Reach& o) const { return low <= o.high && o.low <= high; }
};

Reach reach_of(const Region& r, const View& v) {
  Reach out{v.offset, v.offset};
  for (int a = 0; a < r.rank; ++a) {
    const Dim step = (r.size[a] - 1) * v.stride[a];
    (step < 0 ? out.low : out.high) += step;
  }
  return out;
}

Dim total(const std::vector<Region>& regions) {
  Dim n = 0;
  for (const Region& r : regions) n += r.elements();
  return n;
}

}  // namespace

std::optional<std::vector<Region>> compose(const Region& outer, const Region& inner, size_t limit,
                                           int64_t& steps) {
  std::vector<Region> out;
  if (is_empty(outer) || is_empty(inner)) return out;
  const auto digits = digits_of(inner);
  if (!digits) return std::nullopt;
  const Reach read = reach_of(outer, outer.src);
  if (!read.meets({digits->dst, digits->dst + digits->reach()})) return out;
  std::vector<Piece> pieces{piece_of(outer)};
  pieces[0].rest -= digits->dst;
  pieces[0].src = digits->src;
  Cutter cutter(limit, steps);
  for (const Digit& d : digits->list)
    if (!cutter.apply(d, pieces)) return std::nullopt;
  for (const Piece& p : pieces) {
    const auto r = region_of(p, inner.source);
    if (!r) return std::nullopt;
    out.push_back(*r);
  }
  return out;
}

namespace {

class RasterComposer {
 public:
  RasterComposer(const Raster& inner, size_t limit, int64_t& steps)
      : inner_(inner), limit_(limit), steps_(steps) {
    for (const Region& i : inner.regions) written_.push_back(reach_of(i, i.dst));
  }

  // What `outer` reads of what inner's regions wrote. Inner's regions write no element twice, so their parts
  // of the read are disjoint and their sizes add up.
  std::optional<std::vector<Region>> through(const Region& outer) {
    std::vector<Region> found;
    const Reach read = reach_of(outer, outer.src);
    steps_ -= static_cast<int64_t>(inner_.regions.size());  // the comparisons alone, were nothing to meet
    if (steps_ < 0) return std::nullopt;
    for (size_t n = 0; n < inner_.regions.size(); ++n) {
      if (!read.meets(written_[n])) continue;
      auto part = compose(outer, inner_.regions[n], limit_, steps_);
      if (!part || found.size() + part->size() > limit_) return std::nullopt;
      found.insert(found.end(), part->begin(), part->end());
    }
    holes_ = holes_ || total(found) < outer.elements();
    return found;
  }

  // Some reads met none of inner's regions: they read its fill. In the merged raster nobody writes there, so
  // its own fill must be that value - for these elements and for those that outer left to its fill alike.
  // False when there is no such value.
  bool fill_holes(Raster& merged) const {
    if (!holes_) return true;
    if (!inner_.fill) return false;  // it left elements undefined: keep the plan as it is
    if (merged.fill && merged.fill->bytes != inner_.fill->bytes) return false;
    merged.fill = inner_.fill;
    return true;
  }

 private:
  const Raster& inner_;
  size_t limit_;
  int64_t& steps_;
  std::vector<Reach> written_;  // by inner's regions
  bool holes_ = false;
};

}  // namespace

std::optional<Raster> compose(const Raster& outer, int through, const Raster& inner, int source_base,
                              size_t limit, int64_t& steps) {
  // An element of an accumulating raster is a sum of several sources, and a region names one for each
  // element.
  if (inner.accumulate) return std::nullopt;
  RasterComposer composer(inner, limit, steps);
  Raster out{.regions = {}, .fill = outer.fill, .accumulate = outer.accumulate};
  for (const Region& o : outer.regions) {
    if (o.source != through) {
      out.regions.push_back(o);
      continue;
    }
    auto found = composer.through(o);
    if (!found) return std::nullopt;
    for (Region& r : *found) {
      r.source += source_base;
      out.regions.push_back(r);
    }
    if (out.regions.size() > kSlack * limit) return std::nullopt;
  }
  if (!composer.fill_holes(out)) return std::nullopt;
  if (out.regions.size() > limit) simplify(out);
  if (out.regions.size() > limit) return std::nullopt;
  return out;
}

std::optional<std::vector<Region>> compose(const Region& outer, const Region& inner, size_t limit) {
  int64_t steps = base::kMaxMergeSteps;
  return compose(outer, inner, limit, steps);
}

std::optional<Raster> compose(const Raster& outer, int through, const Raster& inner, int source_base,
                              size_t limit) {
  int64_t steps = base::kMaxMergeSteps;
  return compose(outer, through, inner, source_base, limit, steps);
}

}  // namespace walle::raster
