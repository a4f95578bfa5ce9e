// Pad: constant, reflect, edge or wrap; negative pads crop. Every axis is a list of segments of the source;
// the regions are their product. Constant mode is the middle segments and a fill.
#include <algorithm>

#include "base/checked.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// Result elements [to, to + size) along one axis come from source elements from, from + step, ...
struct Segment {
  Dim to, size, from, step;
};

Result<std::vector<Dim>> full_pads(const std::vector<Dim>& pads, const std::vector<int64_t>& axes,
                                   bool has_axes, int rank) {
  std::vector<int64_t> all;
  // axes since opset 18; before it all axes were meant.
  if (has_axes)
    all = axes;
  else
    for (int i = 0; i < rank; ++i) all.push_back(i);
  WALLE_ASSIGN(const std::vector<int> at, unique_axes(all, rank));
  if (pads.size() != 2 * at.size())
    return model_error({pads.size(), " pads for ", at.size(), " axes"},
                       "two pads per axis (all begins, then all ends)", "input pads", "correct the pads");
  std::vector<Dim> full(2 * rank, 0);
  for (size_t i = 0; i < at.size(); ++i) {
    full[at[i]] = pads[i];
    full[rank + at[i]] = pads[at.size() + i];
  }
  return full;
}

Result<Shape> padded_shape(const Shape& in, const std::vector<Dim>& pads, const std::string& mode,
                           int64_t element_size) {
  Shape out = in;
  const int n = in.rank();
  for (int axis = 0; axis < n; ++axis) {
    const Dim given = in.dim(axis);
    const auto both = raster::checked_add(pads[axis], pads[n + axis]);
    const auto size = both ? raster::checked_add(*both, given) : both;
    // Each pad crops at most the whole axis: both together may still leave something, but then one would read
    // before the data.
    if (!size || *size < 0 || pads[axis] < -given || pads[n + axis] < -given)
      return model_error(
          {"pads ", pads[axis].value(), " and ", pads[n + axis].value(), " on an axis of ", given.value()},
          "a result of zero or more elements", "input pads", "correct the pads");
    if (mode != "constant" && given == 0 && *size > 0)
      return model_error({"mode ", mode, " on an empty axis"}, "elements to repeat", "input data",
                         "use mode constant");
    out.set(axis, *size);
  }
  WALLE_TRY(out.check(element_size, "Pad"));
  return out;
}

// The source index that result position p (counted from the
// source's first element) repeats, and the direction it moves in.
std::pair<Dim, Dim> source_of(const std::string& mode, Dim p, Dim dim) {
  // C++'s remainder has the sign of a; positions before the source are negative.
  const auto mod = [](Dim a, Dim b) { return (a % b + b) % b; };
  if (mode == "edge") return {std::clamp<Dim>(p, 0, dim - 1), p < 0 || p >= dim - 1 ? 0 : 1};
  if (mode == "wrap") return {mod(p, dim), 1};
  // reflect: there and back without the ends twice, so a period of 2 dim - 2.
  // A period of 0 otherwise. NumPy repeats the only element.
  if (dim == 1) return {0, 0};
  const Dim q = mod(p, 2 * dim - 2);
  return q < dim ? std::pair{q, Dim(1)} : std::pair{2 * dim - 2 - q, Dim(-1)};
}

// How many positions from p on one segment explains.
Dim run_length(const std::string& mode, Dim p, Dim dim, std::pair<Dim, Dim> at, Dim left) {
  // Three segments: the first element repeated, the data, the last element repeated.
  if (mode == "edge") return p < 0 ? std::min(left, -p) : p >= dim ? left : std::min(left, dim - p);
  if (at.second == 0) return left;
  if (mode == "wrap") return std::min(left, dim - at.first);
  return std::min(left, at.second > 0 ? dim - at.first : at.first);
}

std::vector<Segment> segments(const std::string& mode, Dim before, Dim dim, Dim out) {
  std::vector<Segment> list;
  if (mode == "constant") {
    const Dim from = std::max<Dim>(0, -before);
    const Dim to = std::max<Dim>(0, before);
    const Dim size = std::min(dim - from, out - to);
    if (size > 0) list.push_back({.to = to, .size = size, .from = from, .step = 1});
    return list;
  }
  for (Dim to = 0; to < out;) {
    const Dim p = to - before;
    auto at = source_of(mode, p, dim);
    // Inside the data edge moves on; the last element alone would say "stay".
    if (mode == "edge" && p >= 0 && p < dim) at.second = 1;
    const Dim size = run_length(mode, p, dim, at, out - to);
    list.push_back({.to = to, .size = size, .from = at.first, .step = at.second});
    to += size;
    if (std::ssize(list) > base::kMaxRegions) break;  // lower() refuses so many
  }
  return list;
}

Status infer(ir::InferContext& c) {
  const std::string mode = c.attrs().get_string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return model_error({"mode '", mode, "'"}, "constant, reflect, edge or wrap", "attribute mode",
                       "correct the mode");
  WALLE_ASSIGN(const std::vector<Dim> pads, c.need_dims(1));
  std::vector<int64_t> axes;
  if (c.has(3)) {
    WALLE_ASSIGN(axes, c.need_i64(3));
  }
  WALLE_ASSIGN(const std::vector<Dim> full, full_pads(pads, axes, c.has(3), c.rank(0)));
  WALLE_ASSIGN(const Shape out, padded_shape(c.shape(0), full, mode, dtype_size(c.dtype(0))));
  // The other modes read no value; exporters leave one connected all the same.
  if (c.has(2) && mode == "constant") {
    WALLE_ASSIGN(const Tensor* value, c.need(2));
    if (value->elements() != 1 || value->dtype() != c.dtype(0))
      return model_error({"a constant value ", dtype_name(value->dtype()), value->shape().text()},
                         {"one ", dtype_name(c.dtype(0))}, "input constant_value", "correct the value");
  }
  c.output(0, c.dtype(0), out);
  return {};
}

// A region for every choice of one segment per axis.
raster::Raster product_of(const std::vector<std::vector<Segment>>& choices, const Shape& in,
                          const Shape& out) {
  raster::Raster r;
  std::vector<size_t> pick(choices.size(), 0);
  for (bool more = std::ranges::none_of(choices, &std::vector<Segment>::empty); more;) {
    Shape size;
    std::vector<Dim> from, step, to;
    for (size_t a = 0; a < choices.size(); ++a) {
      const Segment& s = choices[a][pick[a]];
      size.push_back(s.size);
      from.push_back(s.from);
      step.push_back(s.step);
      to.push_back(s.to);
    }
    r.regions.push_back(box_region(0, size, {in, from, step}, {out, to}));
    more = false;
    for (size_t a = choices.size(); a-- > 0 && !more;) {
      more = ++pick[a] < choices[a].size();
      if (!more) pick[a] = 0;
    }
  }
  return r;
}

Status lower(LowerContext& c) {
  const std::string mode = c.attrs().get_string("mode", "constant");
  const Shape in = c.shape(c.in(0));
  const Shape& out = c.out_shape(0);
  WALLE_ASSIGN(const std::vector<Dim> given, dims_of(c, 1));
  WALLE_ASSIGN(const std::vector<int64_t> axes, ints_of(c, 3));
  WALLE_ASSIGN(const std::vector<Dim> pads, full_pads(given, axes, c.has(3), in.rank()));
  std::vector<std::vector<Segment>> choices;
  int64_t regions = 1;
  for (int a = 0; a < in.rank(); ++a) {
    choices.push_back(segments(mode, pads[a], in.dim(a), out.dim(a)));
    // Clamped at each step, so that eight axes of many segments do not overflow.
    regions = std::min(regions * static_cast<int64_t>(choices.back().size()), base::kMaxRegions + 1);
  }
  if (regions > base::kMaxRegions)
    return resource_error({"pads that repeat the data in more than ", base::kMaxRegions, " pieces"},
                          "fewer pieces", "Pad", "pad in several steps");
  raster::Raster r = product_of(choices, in, out);
  if (mode == "constant" && std::ranges::any_of(pads, [](Dim p) { return p > 0; }))
    r.fill = c.has(2) && c.constant(c.in(2)) ? fill_of(*c.constant(c.in(2))) : raster::Fill{};
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kPadOp{
    .name = "Pad", .op_class = ir::OpClass::transform, .inputs = {2, 4}, .infer = infer, .lower = lower};

}  // namespace walle::ops
