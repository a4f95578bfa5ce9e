#include "raster/compose.h"

#include <algorithm>

#include "base/limits.h"
#include "raster/simplify.h"

namespace walle::raster {

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// One axis of the box being cut: its size and how far a step moves the address within the tensor that is
// still to be explained (rest), the source found so far and the destination.
struct Axis {
  int64_t size, rest, src, dst;
};

struct Piece {
  std::vector<Axis> axes;
  int64_t rest = 0, src = 0, dst = 0;

  // The sub-box [from, from + count) of axis a.
  Piece cut(size_t a, int64_t from, int64_t count) const {
    Piece p = *this;
    p.rest += from * axes[a].rest;
    p.src += from * axes[a].src;
    p.dst += from * axes[a].dst;
    p.axes[a].size = count;
    if (count == 1) p.axes.erase(p.axes.begin() + static_cast<std::ptrdiff_t>(a));
    return p;
  }
  // Axis a as `count` periods of `period` steps. Precondition: size == period * count.
  Piece fold(size_t a, int64_t period, int64_t count) const {
    Piece p = *this;
    const Axis axis = axes[a];
    p.axes[a].size = period;
    const Axis outer{count, axis.rest * period, axis.src * period, axis.dst * period};
    if (count > 1) p.axes.insert(p.axes.begin() + static_cast<std::ptrdiff_t>(a), outer);
    return p;
  }
};

// One digit of the address: `unit` its weight, `size` the values inner covers, `src` inner's source stride.
struct Digit {
  int64_t unit, size, src;
};

class Cutter {
 public:
  Cutter(size_t limit, int64_t& steps) : limit_(limit), steps_(steps) {}

  // Cuts every piece by this digit; false when the limit is reached.
  bool apply(const Digit& digit, std::vector<Piece>& pieces) {
    work_.swap(pieces);
    pieces.clear();
    while (!work_.empty()) {
      if (work_.size() + pieces.size() > limit_ || --steps_ < 0) return false;
      Piece p = std::move(work_.back());
      work_.pop_back();
      if (!carries(digit, p)) continue;
      if (!settle(digit, std::move(p), pieces)) return false;
    }
    return true;
  }

 private:
  // Where the part below the digit's unit can overflow into it, cuts the piece into work_ and returns false.
  bool carries(const Digit& digit, const Piece& p) {
    const int64_t unit = digit.unit;
    const int64_t start = floor_mod(p.rest, unit);
    int64_t reach = start;
    size_t widest = 0;
    int64_t step = 0;
    for (size_t a = 0; a < p.axes.size(); ++a) {
      const int64_t low = p.axes[a].rest % unit;
      reach += low * (p.axes[a].size - 1);
      if (low > step) {
        step = low;
        widest = a;
      }
    }
    if (reach < unit) return true;
    const int64_t size = p.axes[widest].size;
    const int64_t others = reach - start - step * (size - 1);
    if (unit % step == 0 && start % step + others < step) {
      const int64_t period = unit / step;
      const int64_t head = std::min((period - start / step) % period, size);
      const int64_t count = (size - head) / period;
      const int64_t tail = size - head - count * period;
      if (head > 0) work_.push_back(p.cut(widest, 0, head));
      if (count > 0) work_.push_back(p.cut(widest, head, count * period).fold(widest, period, count));
      if (tail > 0) work_.push_back(p.cut(widest, size - tail, tail));
      return false;
    }
    const int64_t room = unit - 1 - start - others;
    const int64_t head = room < 0 ? 1 : std::min(room / step + 1, size - 1);
    work_.push_back(p.cut(widest, 0, head));
    work_.push_back(p.cut(widest, head, size - head));
    return false;
  }

  // The digit is affine in the indices: keep the part of the box where it is covered. False when that takes
  // too many pieces.
  bool settle(const Digit& digit, Piece p, std::vector<Piece>& done) {
    const int64_t first = floor_div(p.rest, digit.unit);
    int64_t last = first;
    size_t movers = 0, shortest = 0;
    for (size_t a = 0; a < p.axes.size(); ++a) {
      const int64_t step = p.axes[a].rest / digit.unit;
      if (step == 0) continue;
      last += step * (p.axes[a].size - 1);
      if (movers++ == 0 || p.axes[a].size < p.axes[shortest].size) shortest = a;
    }
    if (last < 0 || first >= digit.size) return true;
    if (first < 0 || last >= digit.size) {
      if (movers > 1) {
        if (p.axes[shortest].size > static_cast<int64_t>(limit_)) return false;
        for (int64_t i = 0; i < p.axes[shortest].size; ++i) work_.push_back(p.cut(shortest, i, 1));
        return true;
      }
      const int64_t step = p.axes[shortest].rest / digit.unit;
      const int64_t from = std::max<int64_t>(0, ceil_div(-first, step));
      const int64_t to = std::min(p.axes[shortest].size - 1, floor_div(digit.size - 1 - first, step));
      if (from > to) return true;
      work_.push_back(p.cut(shortest, from, to - from + 1));
      return true;
    }
    p.src += first * digit.src;
    p.rest = floor_mod(p.rest, digit.unit);
    for (Axis& a : p.axes) {
      a.src += a.rest / digit.unit * digit.src;
      a.rest %= digit.unit;
    }
    done.push_back(std::move(p));
    return true;
  }

  size_t limit_;
  int64_t& steps_;
  std::vector<Piece> work_;
};

// Digits of inner's destination view, heaviest first, with positive units; `src` and `dst` become the view's
// origin. False when the view writes an element twice.
bool digits_of(const Region& inner, std::vector<Digit>& digits, int64_t& src, int64_t& dst) {
  src = inner.src.offset;
  dst = inner.dst.offset;
  for (size_t a = 0; a < static_cast<size_t>(inner.rank); ++a) {
    if (inner.size[a] == 1) continue;
    int64_t unit = inner.dst.stride[a];
    int64_t step = inner.src.stride[a];
    if (unit == 0) return false;
    if (unit < 0) {
      dst += unit * (inner.size[a] - 1);
      src += step * (inner.size[a] - 1);
      unit = -unit;
      step = -step;
    }
    digits.push_back({unit, inner.size[a], step});
  }
  std::ranges::sort(digits, [](const Digit& a, const Digit& b) { return a.unit > b.unit; });
  int64_t reach = 0;
  for (auto d = digits.rbegin(); d != digits.rend(); ++d) {
    if (reach >= d->unit) return false;
    reach += (d->size - 1) * d->unit;
  }
  if (digits.empty() || digits.back().unit != 1) digits.push_back({1, 1, 0});
  return true;
}

Piece piece_of(const Region& outer) {
  Piece p;
  p.rest = outer.src.offset;
  p.dst = outer.dst.offset;
  for (size_t a = 0; a < static_cast<size_t>(outer.rank); ++a) {
    if (outer.size[a] == 1) continue;
    Axis axis{outer.size[a], outer.src.stride[a], 0, outer.dst.stride[a]};
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
  for (const Axis& a : p.axes) axes.push_back({a.size, a.src, a.dst});
  return region_from_axes(source, p.src, p.dst, std::move(axes));
}

bool is_empty(const Region& r) { return r.elements() <= 0; }

// The lowest and the highest address of a view.
struct Reach {
  int64_t low, high;
  bool meets(const Reach& o) const { return low <= o.high && o.low <= high; }
};

Reach reach_of(const Region& r, const View& v) {
  Reach out{v.offset, v.offset};
  for (size_t a = 0; a < static_cast<size_t>(r.rank); ++a) {
    const int64_t step = (r.size[a] - 1) * v.stride[a];
    (step < 0 ? out.low : out.high) += step;
  }
  return out;
}

}  // namespace

std::optional<std::vector<Region>> compose(const Region& outer, const Region& inner, size_t limit,
                                           int64_t& steps) {
  std::vector<Region> out;
  if (is_empty(outer) || is_empty(inner)) return out;
  std::vector<Digit> digits;
  int64_t src = 0, dst = 0;
  if (!digits_of(inner, digits, src, dst)) return std::nullopt;
  std::vector<Piece> pieces{piece_of(outer)};
  int64_t last = pieces[0].rest;
  for (const Axis& a : pieces[0].axes) last += a.rest * (a.size - 1);
  int64_t reach = 0;
  for (const Digit& d : digits) reach += d.unit * (d.size - 1);
  if (last < dst || pieces[0].rest > dst + reach) return out;
  pieces[0].rest -= dst;
  pieces[0].src = src;
  Cutter cutter(limit, steps);
  for (const Digit& d : digits)
    if (!cutter.apply(d, pieces)) return std::nullopt;
  for (const Piece& p : pieces) {
    const auto r = region_of(p, inner.source);
    if (!r) return std::nullopt;
    out.push_back(*r);
  }
  return out;
}

namespace {
int64_t total(const std::vector<Region>& regions) {
  int64_t n = 0;
  for (const Region& r : regions) n += r.elements();
  return n;
}
}  // namespace

std::optional<Raster> compose(const Raster& outer, int through, const Raster& inner, int source_base,
                              size_t limit, int64_t& steps) {
  if (inner.accumulate) return std::nullopt;
  Raster out{{}, outer.fill, outer.accumulate};
  bool holes = false;
  std::vector<Reach> written;
  for (const Region& i : inner.regions) written.push_back(reach_of(i, i.dst));
  for (const Region& o : outer.regions) {
    if (o.source != through) {
      out.regions.push_back(o);
      continue;
    }
    std::vector<Region> found;
    const Reach read = reach_of(o, o.src);
    steps -= static_cast<int64_t>(inner.regions.size());
    if (steps < 0) return std::nullopt;
    for (size_t n = 0; n < inner.regions.size(); ++n) {
      if (!read.meets(written[n])) continue;
      auto part = compose(o, inner.regions[n], limit, steps);
      if (!part || found.size() + part->size() > limit) return std::nullopt;
      found.insert(found.end(), part->begin(), part->end());
    }
    holes = holes || total(found) < o.elements();
    for (Region& r : found) {
      r.source += source_base;
      out.regions.push_back(r);
    }
    if (out.regions.size() > 4 * limit) return std::nullopt;
  }
  if (holes) {
    if (!inner.fill)
      return std::nullopt;  // an inner raster that left elements undefined: keep the plan as it is
    if (outer.fill && outer.fill->bytes != inner.fill->bytes) return std::nullopt;
    out.fill = inner.fill;
  }
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
