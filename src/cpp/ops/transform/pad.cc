// Pad: constant, reflect, edge or wrap; negative pads crop. Every axis is a list of segments of the source;
// the regions are their product. Constant mode is the middle segments and a fill.
#include <algorithm>

#include "base/checked.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// Result elements [to, to + size) along one axis come from source elements from, from + step, ...
struct Segment {
  int64_t to, size, from, step;
};

Result<std::vector<int64_t>> full_pads(const std::vector<int64_t>& pads, const std::vector<int64_t>& axes,
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
  std::vector<int64_t> full(2 * rank, 0);
  for (size_t i = 0; i < at.size(); ++i) {
    full[at[i]] = pads[i];
    full[rank + at[i]] = pads[at.size() + i];
  }
  return full;
}

Result<Shape> padded_shape(const Shape& in, const std::vector<int64_t>& pads, const std::string& mode,
                           int64_t element_size) {
  Shape out = in;
  const int n = in.rank();
  for (int axis = 0; axis < n; ++axis) {
    const auto both = base::checked_add(pads[axis], pads[n + axis]);
    const auto size = both ? base::checked_add(*both, in[axis]) : both;
    // Each pad crops at most the whole axis: both together may still leave something, but then one would read
    // before the data.
    if (!size || *size < 0 || pads[axis] < -in[axis] || pads[n + axis] < -in[axis])
      return model_error({"pads ", pads[axis], " and ", pads[n + axis], " on an axis of ", in[axis]},
                         "a result of zero or more elements", "input pads", "correct the pads");
    if (mode != "constant" && in[axis] == 0 && *size > 0)
      return model_error({"mode ", mode, " on an empty axis"}, "elements to repeat", "input data",
                         "use mode constant");
    out[axis] = *size;
  }
  return Shape::checked(out.dims(), element_size, "Pad");
}

// The source index that result position p (counted from the
// source's first element) repeats, and the direction it moves in.
std::pair<int64_t, int64_t> source_of(const std::string& mode, int64_t p, int64_t dim) {
  // C++'s remainder has the sign of a; positions before the source are negative.
  const auto mod = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (mode == "edge") return {std::clamp<int64_t>(p, 0, dim - 1), p < 0 || p >= dim - 1 ? 0 : 1};
  if (mode == "wrap") return {mod(p, dim), 1};
  // reflect: there and back without the ends twice, so a period of 2 dim - 2.
  // A period of 0 otherwise. NumPy repeats the only element.
  if (dim == 1) return {0, 0};
  const int64_t q = mod(p, 2 * dim - 2);
  return q < dim ? std::pair{q, int64_t{1}} : std::pair{2 * dim - 2 - q, int64_t{-1}};
}

// How many positions from p on one segment explains.
int64_t run_length(const std::string& mode, int64_t p, int64_t dim, std::pair<int64_t, int64_t> at,
                   int64_t left) {
  // Three segments: the first element repeated, the data, the last element repeated.
  if (mode == "edge") return p < 0 ? std::min(left, -p) : p >= dim ? left : std::min(left, dim - p);
  if (at.second == 0) return left;
  if (mode == "wrap") return std::min(left, dim - at.first);
  return std::min(left, at.second > 0 ? dim - at.first : at.first);
}

std::vector<Segment> segments(const std::string& mode, int64_t before, int64_t dim, int64_t out) {
  std::vector<Segment> list;
  if (mode == "constant") {
    const int64_t from = std::max<int64_t>(0, -before);
    const int64_t to = std::max<int64_t>(0, before);
    const int64_t size = std::min(dim - from, out - to);
    if (size > 0) list.push_back({.to = to, .size = size, .from = from, .step = 1});
    return list;
  }
  for (int64_t to = 0; to < out;) {
    const int64_t p = to - before;
    auto at = source_of(mode, p, dim);
    // Inside the data edge moves on; the last element alone would say "stay".
    if (mode == "edge" && p >= 0 && p < dim) at.second = 1;
    const int64_t size = run_length(mode, p, dim, at, out - to);
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
  WALLE_ASSIGN(const std::vector<int64_t> pads, c.need_i64(1));
  std::vector<int64_t> axes;
  if (c.has(3)) {
    WALLE_ASSIGN(axes, c.need_i64(3));
  }
  WALLE_ASSIGN(const std::vector<int64_t> full, full_pads(pads, axes, c.has(3), c.rank(0)));
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
  WALLE_ASSIGN(const std::vector<int64_t> given, ints_of(c, 1));
  WALLE_ASSIGN(const std::vector<int64_t> axes, ints_of(c, 3));
  WALLE_ASSIGN(const std::vector<int64_t> pads, full_pads(given, axes, c.has(3), in.rank()));
  std::vector<std::vector<Segment>> choices;
  int64_t regions = 1;
  for (int a = 0; a < in.rank(); ++a) {
    choices.push_back(segments(mode, pads[a], in[a], out[a]));
    // Clamped at each step, so that eight axes of many segments do not overflow.
    regions = std::min(regions * static_cast<int64_t>(choices.back().size()), base::kMaxRegions + 1);
  }
  if (regions > base::kMaxRegions)
    return resource_error({"pads that repeat the data in more than ", base::kMaxRegions, " pieces"},
                          "fewer pieces", "Pad", "pad in several steps");
  raster::Raster r = product_of(choices, in, out);
  if (mode == "constant" && std::ranges::any_of(pads, [](int64_t p) { return p > 0; }))
    r.fill = c.has(2) && c.constant(c.in(2)) ? fill_of(*c.constant(c.in(2))) : raster::Fill{};
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kPadOp{
    .name = "Pad", .op_class = ir::OpClass::transform, .inputs = {2, 4}, .infer = infer, .lower = lower};

}  // namespace walle::ops
