#include "ops/composite/conv_phases.h"

#include <algorithm>

#include "base/checked.h"

namespace walle::ops {

namespace {
using base::ceil_div;

// Axes of a region of weights are the group, phases, channels in and out, and taps.
constexpr int kMaxAxes = 3;

// The places q, of phase r, that are results on this axis.
Span places(const Window& w, int axis, int64_t r) {
  const int64_t pad = w.pad_begin[axis];
  const int64_t s = w.stride[axis];
  const int64_t first = pad > r ? ceil_div(pad - r, s) : 0;
  const int64_t behind = pad + w.out[axis] - r;  // of o + pad - r
  return {first, behind > 0 ? ceil_div(behind, s) : 0};
}

// Phases [first, first + count) of `taps` taps each; false where no convolution gives all their results.
bool add_axis(const Window& w, int axis, int64_t in, int64_t first, int64_t count, int64_t taps,
              std::vector<PhaseAxis>& out) {
  int64_t from = kMaxWindowEntry;
  int64_t to = 0;
  for (int64_t r = first; r < first + count; ++r) {
    const Span q = places(w, axis, r);
    if (q.length() == 0) continue;  // of a result smaller than the stride
    from = std::min(from, q.first);
    to = std::max(to, q.last);
  }
  if (to == 0) return true;
  const int64_t reach = w.dilation[axis] * (taps - 1);
  if (to > in + reach) return false;  // behind what the last tap of the last input reaches
  PhaseAxis a{.first = first, .count = count, .taps = taps};
  // Where padding is cut off beyond the reach of a window, the convolution computes what is cut: it cannot
  // begin inside the input.
  a.start = std::min(from, reach);
  a.pad_begin = reach - a.start;
  a.pad_end = std::max<int64_t>(to - in, 0);
  out.push_back(a);
  return true;
}

// Taps k = s * shorter + more: the first `more` phases have one tap more than the others.
std::optional<std::vector<PhaseAxis>> axis_groups(const Window& w, int axis, int64_t in) {
  std::vector<PhaseAxis> out;
  const int64_t s = w.stride[axis];
  // Some phases have no taps and hold the bias alone. Behind this line there are at most as many phases as
  // taps.
  if (s > w.kernel[axis]) return std::nullopt;
  const int64_t shorter = w.kernel[axis] / s;
  const int64_t more = w.kernel[axis] % s;
  // With a dilation d the phases of a stride s are convolutions, too, but each begins elsewhere. No network
  // of the zoos has both.
  if (s > 1 && w.dilation[axis] > 1 && w.kernel[axis] > 1) return std::nullopt;
  if (more > 0 && !add_axis(w, axis, in, 0, more, shorter + 1, out)) return std::nullopt;
  if (!add_axis(w, axis, in, more, s - more, shorter, out)) return std::nullopt;
  return out;
}

int64_t phases_of(const PhaseGroup& group) {
  int64_t total = 1;
  for (const PhaseAxis& a : group) total *= a.count;
  return total;
}

// Calls f with every tuple of phases, its number, and how many there are.
template <class F>
void for_each_phase(const PhaseGroup& group, F f) {
  std::vector<int64_t> r;
  for (const PhaseAxis& a : group) r.push_back(a.first);
  const int64_t total = phases_of(group);
  const int n = static_cast<int>(group.size());
  for (int64_t number = 0; number < total; ++number) {
    f(r, number, total);
    for (int i = n - 1; i >= 0 && ++r[i] == group[i].first + group[i].count; --i) r[i] = group[i].first;
  }
}

// [group * phases * M / group, C / group, taps...]: tap t of the convolution is tap r + s * (taps - 1 - t).
Ref phase_weights(LowerContext& c, const Window& w, const TransposedOperands& o, const PhaseGroup& group) {
  const Shape from = c.shape(o.weights).strides();
  const int64_t depth = c.shape(o.weights)[0] / o.group;
  const int64_t rows = c.shape(o.weights)[1];
  const int n = w.rank();
  Shape shape{o.group * phases_of(group) * rows, depth};
  for (const PhaseAxis& a : group) shape.push_back(a.taps);
  if (!c.may_have(c.dtype(o.weights), shape)) return kNoRef;
  const Shape to = shape.strides();
  raster::Raster raster;
  for_each_phase(group, [&](const std::vector<int64_t>& r, int64_t number, int64_t total) {
    std::vector<int64_t> size{o.group, rows, depth};
    std::vector<int64_t> src{depth * from[0], from[1], from[0]};
    std::vector<int64_t> dst{total * rows * to[0], to[0], to[1]};
    int64_t first = 0;
    for (int i = 0; i < n; ++i) {
      const int64_t step = from[i + 2] * w.stride[i];
      size.push_back(group[i].taps);
      src.push_back(group[i].taps > 1 ? -step : 0);
      dst.push_back(to[i + 2]);
      first += from[i + 2] * r[i] + step * (group[i].taps - 1);
    }
    raster.regions.push_back(raster::strided_region(0, size, first, src, number * rows * to[0], dst));
  });
  return c.raster(std::move(raster), c.dtype(o.weights), shape, {o.weights});
}

// The bias of each channel for all of its phases.
Ref phase_bias(LowerContext& c, const TransposedOperands& o, int64_t phases) {
  if (o.bias < 0 || phases == 1) return o.bias;
  const int64_t channels = c.shape(o.bias)[0];
  const int64_t rows = channels / o.group;
  raster::Raster raster;
  raster.regions.push_back(raster::strided_region(0, std::vector<int64_t>{o.group, phases, rows}, 0,
                                                  std::vector<int64_t>{rows, 0, 1}, 0,
                                                  std::vector<int64_t>{phases * rows, rows, 1}));
  return c.raster(std::move(raster), c.dtype(o.bias), Shape{phases * channels}, {o.bias});
}

Ref convolve(LowerContext& c, const Window& w, const TransposedOperands& o, const PhaseGroup& group) {
  Window inner;
  for (int i = 0; i < w.rank(); ++i) {
    inner.kernel.push_back(group[i].taps);
    inner.stride.push_back(1);
    inner.dilation.push_back(group[i].taps > 1 ? w.dilation[i] : 1);
    inner.pad_begin.push_back(group[i].pad_begin);
    inner.pad_end.push_back(group[i].pad_end);
  }
  ir::Attributes a{{"group", o.group}};
  inner.write(a);
  return c.emit("Conv", {o.x, phase_weights(c, w, o, group), phase_bias(c, o, phases_of(group))}, a);
}

// The regions that put the results `y` of convolution `source` where they belong.
void interleave(const Window& w, int64_t conv_groups, const PhaseGroup& group, int source, const Shape& y,
                const Shape& out, raster::Raster& raster) {
  const Shape from = y.strides();
  const Shape to = out.strides();
  const int64_t rows = out[1] / conv_groups;
  for_each_phase(group, [&](const std::vector<int64_t>& r, int64_t number, int64_t total) {
    std::vector<int64_t> size{out[0], conv_groups, rows};
    std::vector<int64_t> src{from[0], total * rows * from[1], from[1]};
    std::vector<int64_t> dst{to[0], rows * to[1], to[1]};
    int64_t first = number * rows * from[1];
    int64_t at = 0;
    for (int i = 0; i < w.rank(); ++i) {
      const Span q = places(w, i, r[i]);
      size.push_back(q.length());
      if (q.length() == 0) return;
      src.push_back(from[i + 2]);
      dst.push_back(q.length() > 1 ? to[i + 2] * w.stride[i] : 0);
      first += from[i + 2] * (q.first - group[i].start);
      at += to[i + 2] * (w.stride[i] * q.first + r[i] - w.pad_begin[i]);
    }
    raster.regions.push_back(raster::strided_region(source, size, first, src, at, dst));
  });
}
}  // namespace

std::optional<std::vector<PhaseGroup>> phase_groups(const Window& w, const Shape& x) {
  if (x.elements() == 0 || w.rank() > kMaxAxes) return std::nullopt;
  std::vector<PhaseGroup> groups(1);
  for (int i = 0; i < w.rank(); ++i) {
    const auto axis = axis_groups(w, i, x[i + 2]);
    if (!axis) return std::nullopt;
    std::vector<PhaseGroup> next;
    for (const PhaseGroup& g : groups)
      for (const PhaseAxis& a : *axis) {
        next.push_back(g);
        next.back().push_back(a);
      }
    groups = std::move(next);
  }
  return groups;
}

Ref by_phases(LowerContext& c, const Window& w, const TransposedOperands& o,
              const std::vector<PhaseGroup>& groups) {
  const Shape& out = c.out_shape(0);
  raster::Raster raster;
  std::vector<Ref> convolutions;
  for (const PhaseGroup& group : groups) {
    const Ref y = convolve(c, w, o, group);
    if (c.failed()) return kNoRef;
    // One phase and nothing cut off: with stride 1 this is all there is.
    if (groups.size() == 1 && c.shape(y) == out) return y;
    interleave(w, o.group, group, static_cast<int>(convolutions.size()), c.shape(y), out, raster);
    convolutions.push_back(y);
  }
  return c.raster(std::move(raster), c.dtype(o.x), out, convolutions);
}

}  // namespace walle::ops
