#include "raster/cutter.h"

#include <algorithm>

namespace walle::raster {

namespace {
// C++ divides towards zero; digits need floors, also of what lies before the inner region.
Dim floor_div(Dim a, Dim b) {
  const bool below = a % b != 0 && (a < 0) != (b < 0);
  return a / b - (below ? 1 : 0);
}
Dim floor_mod(Dim a, Dim b) { return a - floor_div(a, b) * b; }
Dim ceil_div(Dim a, Dim b) { return -floor_div(-a, b); }

// What lies below a digit's unit: where it starts, how far it can get, and the axis that takes it furthest in
// one step.
struct LowPart {
  Dim start = 0;
  Dim reach = 0;
  size_t widest = 0;
  Dim step = 0;  // of the widest axis; 0: no axis moves the low part
};

LowPart low_part(const Piece& p, Dim unit) {
  LowPart out;
  out.start = floor_mod(p.rest, unit);
  out.reach = out.start;
  for (size_t a = 0; a < p.axes.size(); ++a) {
    const Dim low = p.axes[a].rest % unit;
    out.reach += low * (p.axes[a].size - 1);
    if (low > out.step) {
      out.step = low;
      out.widest = a;
    }
  }
  return out;
}

// The digit as a function of the index, once nothing carries into it.
struct DigitRange {
  int64_t first = 0;  // at index 0; the least, because steps are not negative
  Dim last = 0;
  size_t movers = 0;    // axes that change the digit
  size_t shortest = 0;  // of the movers
};

DigitRange digit_range(const Piece& p, Dim unit) {
  DigitRange out;
  out.first = floor_div(p.rest, unit);
  out.last = out.first;
  for (size_t a = 0; a < p.axes.size(); ++a) {
    const Dim step = p.axes[a].rest / unit;
    if (step == 0) continue;
    out.last += step * (p.axes[a].size - 1);
    if (out.movers++ == 0 || p.axes[a].size < p.axes[out.shortest].size) out.shortest = a;
  }
  return out;
}

// One axis moves the digit: 0 <= first + i * step < size is an interval of i, and a box stays a box (slice,
// pad). The part goes through the loop again, because its first digit is another one.
std::optional<Piece> clipped(const Digit& digit, const Piece& p, const DigitRange& range) {
  const PieceAxis& axis = p.axes[range.shortest];
  const Dim step = axis.rest / digit.unit;
  const Dim from = std::max<Dim>(0, ceil_div(-range.first, step));
  const Dim to = std::min(axis.size - 1, floor_div(digit.size - 1 - range.first, step));
  if (from > to) return std::nullopt;
  return p.cut(range.shortest, from, to - from + 1);
}
}  // namespace

Piece Piece::cut(size_t a, Dim from, Dim count) const {
  Piece p = *this;
  p.rest += from * axes[a].rest;
  p.src += from * axes[a].src;
  p.dst += from * axes[a].dst;
  p.axes[a].size = count;
  if (count == 1) p.axes.erase(p.axes.begin() + static_cast<std::ptrdiff_t>(a));
  return p;
}

Piece Piece::fold(size_t a, Dim period, Dim count) const {
  Piece p = *this;
  const PieceAxis axis = axes[a];
  p.axes[a].size = period;
  const PieceAxis outer{
      .size = count, .rest = axis.rest * period, .src = axis.src * period, .dst = axis.dst * period};
  if (count > 1) p.axes.insert(p.axes.begin() + static_cast<std::ptrdiff_t>(a), outer);
  return p;
}

// A stack and not a recursion: hostile rasters could cut deep, and the sum of both lists is what is bounded.
bool Cutter::apply(const Digit& digit, std::vector<Piece>& pieces) {
  work_.swap(pieces);
  pieces.clear();
  while (!work_.empty()) {
    if (work_.size() + pieces.size() > limit_ || --steps_ < 0) return false;
    Piece p = std::move(work_.back());
    work_.pop_back();
    if (carries(digit, p)) continue;
    if (!settle(digit, std::move(p), pieces)) return false;
  }
  return true;
}

// True when the low part can overflow into the digit; then the piece is cut into work_ along the axis of the
// widest step, the one that overflows first.
bool Cutter::carries(const Digit& digit, const Piece& p) {
  const Dim unit = digit.unit;
  const LowPart low = low_part(p, unit);
  if (low.reach < unit) return false;
  const Dim step = low.step;
  const Dim size = p.axes[low.widest].size;
  const Dim others = low.reach - low.start - step * (size - 1);  // all other axes at their far ends
  // Regular carries (a reshape): the step divides the unit, and what the start and the other axes add stays
  // below one step. Then rest(i) mod unit wraps exactly every `period` steps of this axis, whatever the other
  // indices are: a head up to the first wrap, whole periods as an axis of their own, and a tail.
  if (unit % step == 0 && low.start % step + others < step) {
    const Dim period = unit / step;
    const Dim head = std::min((period - low.start / step) % period, size);
    const Dim count = (size - head) / period;
    const Dim tail = size - head - count * period;
    if (head > 0) work_.push_back(p.cut(low.widest, 0, head));
    if (count > 0) work_.push_back(p.cut(low.widest, head, count * period).fold(low.widest, period, count));
    if (tail > 0) work_.push_back(p.cut(low.widest, size - tail, tail));
    return true;
  }
  // Irregular ones: the indices that cannot carry whatever the others are, and the rest. Where the others
  // alone may carry there are none, and one index is split off so that the axis is gone from that part.
  const Dim room = unit - 1 - low.start - others;
  const Dim head = room < 0 ? Dim(1) : std::min(room / step + 1, size - 1);
  work_.push_back(p.cut(low.widest, 0, head));
  work_.push_back(p.cut(low.widest, head, size - head));
  return true;
}

// The digit is affine in the index: drops the piece where the digit is out of range everywhere, cuts it where
// it is somewhere, and substitutes it where it never is. False when that takes too many pieces.
bool Cutter::settle(const Digit& digit, Piece p, std::vector<Piece>& done) {
  const DigitRange range = digit_range(p, digit.unit);
  if (range.last < 0 || range.first >= digit.size) return true;
  if (range.first < 0 || range.last >= digit.size) {
    if (range.movers == 1) {
      if (auto inside = clipped(digit, p, range)) work_.push_back(std::move(*inside));
      return true;
    }
    // 0 <= first + sum of i * high < size over two axes or more is no box but a slanted band of one (sliding
    // windows over a padded image). Unrolled along its shortest axis it is a stack of boxes.
    const PieceAxis& axis = p.axes[range.shortest];
    if (axis.size > limit_) return false;
    for (int64_t i = 0; i < axis.size; ++i) work_.push_back(p.cut(range.shortest, i, 1));
    return true;
  }
  p.src += range.first * digit.src;
  p.rest = floor_mod(p.rest, digit.unit);
  for (PieceAxis& a : p.axes) {
    a.src += a.rest / digit.unit * digit.src;
    a.rest %= digit.unit;
  }
  done.push_back(std::move(p));
  return true;
}

}  // namespace walle::raster
