// Resize. Every mode is separable: one Interpolate per resized axis, shrinking axes first so that the rest
// works on less. Nearest by a whole factor is a raster (repeat up, stride down).
#include <algorithm>
#include <cmath>

#include "ops/composite/resize_taps.h"
#include "ops/lower.h"

namespace walle::ops {

namespace {
constexpr double kMaxSize = 2147483647;  // of any axis: taps are int32
// 2^26 outputs, as many steps as base::kMaxPlanTable allows for all tables of a model.
constexpr double kMaxLength = 1 << 26;  // of a resized axis: its table of taps is made while planning

struct AxisPlan {
  int axis = 0;
  int64_t out = 0;
  double scale = 1, roi_begin = 0, roi_end = 1;
};

bool given(const ir::InferContext& c, int i) { return c.has(i) && c.shape(i).elements() > 0; }

Result<ResizeRule> rule_of(const ir::Attributes& attrs) {
  ResizeRule r;
  r.mode = attrs.get_string("mode", r.mode);
  r.coordinates = attrs.get_string("coordinate_transformation_mode", r.coordinates);
  r.nearest = attrs.get_string("nearest_mode", r.nearest);
  r.cubic_a = attrs.get_float("cubic_coeff_a", r.cubic_a);
  r.antialias = attrs.get_int("antialias", 0) != 0;
  r.exclude_outside = attrs.get_int("exclude_outside", 0) != 0;
  WALLE_TRY(check_rule(r));
  return r;
}

// Which values of the axes attribute (default: all axes) are meant.
Result<std::vector<int>> listed_axes(const ir::Attributes& attrs, int rank) {
  std::vector<int> out;
  for (int64_t a : attrs.get_ints("axes")) {
    WALLE_ASSIGN(const int axis, tensor::normalize_axis(a, rank, "axes"));
    if (std::ranges::find(out, axis) != out.end())
      return model_error({"axis ", axis, " twice"}, "each axis once", "attribute axes", "correct axes");
    out.push_back(axis);
  }
  if (out.empty())
    for (int i = 0; i < rank; ++i) out.push_back(i);
  return out;
}

// One axis by its scale or to its size, whichever `value` is.
Result<AxisPlan> plan_axis(const Shape& x, int axis, double value, bool by_scale) {
  const auto in = static_cast<double>(x[axis]);
  // floor: ONNX Resize since opset 10. Scales are float32, and so is the product: 10 * 0.7 is 7, where in
  // float64 it is below (docs/adr/0028-resize-in-float32.md).
  const float product = static_cast<float>(in) * static_cast<float>(value);
  const double out = by_scale ? std::floor(static_cast<double>(product)) : value;
  const double scale = by_scale ? value : in > 0 ? value / in : 1;
  const char* where = by_scale ? "input scales" : "input sizes";
  const auto given = [&] {
    return "a resize of axis " + std::to_string(axis) + " from " + std::to_string(x[axis]) + " by " +
           std::to_string(value);
  };
  // Written so that NaN is refused; a scale of 0 is allowed only where there is nothing to scale.
  if (!(scale >= 0) || !(out >= 0) || out > kMaxSize || in > kMaxSize || (scale == 0 && in > 0 && by_scale))
    return model_error(given(), "a positive scale and a size below 2^31", where, "correct the scale or size");
  // Axes that keep their length need no table.
  if (out != in && (out > kMaxLength || in > kMaxLength))
    return resource_error(given(), "lengths up to 2^26", where, "correct the scale or size");
  if (in == 0 && out > 0)
    return model_error({"an empty axis ", axis, " to be enlarged"}, "at least one element", "input X",
                       "check the shapes before this node");
  return AxisPlan{.axis = axis, .out = static_cast<int64_t>(out), .scale = scale};
}

Result<std::string> policy_of(const ir::Attributes& attrs) {
  const std::string policy = attrs.get_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || policy == "not_larger" || policy == "not_smaller") return policy;
  return model_error({"keep_aspect_ratio_policy \"", policy, "\""}, "stretch, not_larger or not_smaller",
                     "attribute keep_aspect_ratio_policy", "choose one");
}

// The policies that keep the aspect ratio give every axis one scale: the smallest or the largest asked for.
void keep_aspect_ratio(const std::string& policy, const Shape& x, std::vector<AxisPlan>& plan) {
  // Opset 18. Only sizes ask for it: scales already say what each axis gets.
  if (policy == "stretch" || plan.empty()) return;
  const auto [least, most] = std::ranges::minmax_element(plan, {}, &AxisPlan::scale);
  const double common = policy == "not_larger" ? least->scale : most->scale;
  for (AxisPlan& p : plan) {
    p.scale = common;
    // round(), halves up: "round_int" in ONNX's text.
    p.out = static_cast<int64_t>(std::min(common * static_cast<double>(x[p.axis]) + 0.5, kMaxLength));
  }
}

Error wrong_count(Text name, size_t expected) {
  return model_error({name, " with another number of entries"}, {expected, " entries"}, {"input ", name},
                     "give one entry per resized axis (two for roi)");
}

// Sizes and scales per listed axis. `scales`, `sizes` and `roi` are null when not given.
Result<std::vector<AxisPlan>> plan_axes(const ir::Attributes& attrs, const Shape& x, const Tensor* roi,
                                        const Tensor* scales, const Tensor* sizes) {
  WALLE_ASSIGN(const std::vector<int> axes, listed_axes(attrs, x.rank()));
  if (!scales == !sizes)
    return model_error("both or neither of scales and sizes", "exactly one of them", "Resize",
                       "leave one of them empty");
  WALLE_ASSIGN(const std::vector<double> values, (scales ? scales : sizes)->to_f64());
  if (values.size() != axes.size()) return wrong_count(scales ? "scales" : "sizes", axes.size());
  WALLE_ASSIGN(const std::string policy, policy_of(attrs));
  std::vector<AxisPlan> plan;
  for (size_t i = 0; i < axes.size(); ++i) {
    WALLE_ASSIGN(plan.emplace_back(), plan_axis(x, axes[i], values[i], scales != nullptr));
  }
  if (sizes) keep_aspect_ratio(policy, x, plan);
  // roi is read by this one mode; exporters connect it, filled or empty, for the others too.
  if (roi && attrs.get_string("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    WALLE_ASSIGN(const std::vector<double> box, roi->to_f64());
    if (box.size() != 2 * axes.size()) return wrong_count("roi", 2 * axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      plan[i].roi_begin = box[i];
      plan[i].roi_end = box[i + axes.size()];
    }
  }
  return plan;
}

Status infer(ir::InferContext& c) {
  WALLE_TRY(rule_of(c.attrs()));
  const Tensor* inputs[4] = {};
  for (int i = 1; i < 4; ++i)
    if (given(c, i)) {
      WALLE_ASSIGN(inputs[i], c.need(i));
    }
  WALLE_ASSIGN(const std::vector<AxisPlan> plan,
               plan_axes(c.attrs(), c.shape(0), inputs[1], inputs[2], inputs[3]));
  Shape out = c.shape(0);
  for (const AxisPlan& p : plan) out[p.axis] = p.out;
  WALLE_ASSIGN(out, Shape::checked(out.dims(), tensor::kMaxDTypeSize, "Resize"));
  c.output(0, c.dtype(0), out);
  return {};
}

// Nearest by a whole factor: repeat every row, or take every factor-th. (Repeated single elements are left to
// Interpolate: a raster cannot copy them in runs.)
std::optional<raster::Raster> whole_factor(const AxisTaps& t, const Shape& in, int axis, int64_t out) {
  const int64_t n = in[axis];
  const int64_t outer = in.product(0, axis);
  const int64_t inner = in.product(axis + 1, in.rank());
  raster::Raster r;
  if (out % n == 0 && inner == 1) return std::nullopt;
  if (out % n == 0) {
    const int64_t f = out / n;
    bool repeats = true;
    for (int64_t j = 0; repeats && j < out; ++j) repeats = t.index[j] == j / f;
    const int64_t size[] = {outer, n, f, inner};
    const int64_t src[] = {n * inner, inner, 0, 1};
    const int64_t dst[] = {out * inner, f * inner, inner, 1};
    r.regions.push_back(raster::strided_region(0, size, 0, src, 0, dst));
    if (repeats) return r;
  } else if (n % out == 0) {
    const int64_t f = n / out;
    bool strides = true;
    for (int64_t j = 0; strides && j < out; ++j) strides = t.index[j] == t.index[0] + j * f;
    const int64_t size[] = {outer, out, inner};
    const int64_t src[] = {n * inner, f * inner, 1};
    const int64_t dst[] = {out * inner, inner, 1};
    r.regions.push_back(raster::strided_region(0, size, t.index[0] * inner, src, 0, dst));
    if (strides) return r;
  }
  return std::nullopt;
}

Ref apply_taps(LowerContext& c, Ref x, const AxisTaps& t, int axis, int64_t out) {
  Shape shape = c.shape(x);
  if (t.weight.empty()) {
    if (auto r = whole_factor(t, shape, axis, out)) {
      shape[axis] = out;
      return c.raster(std::move(*r), c.dtype(x), shape, {x});
    }
  }
  const Shape table{out, t.taps};
  auto index = Tensor::from<int32_t>(table, t.index);
  if (!index.ok()) c.fail(index.take_error());
  if (c.failed()) return kNoRef;
  const Ref rows = c.constant(std::move(*index));
  if (t.weight.empty()) return c.emit("Interpolate", {x, rows}, {{"axis", int64_t{axis}}});
  auto weight = Tensor::from<double>(table, t.weight);
  if (!weight.ok()) c.fail(weight.take_error());
  if (c.failed()) return kNoRef;
  const Ref weights = c.cast(c.constant(std::move(*weight)), c.dtype(x));
  return c.emit("Interpolate", {x, rows, weights}, {{"axis", int64_t{axis}}});
}

// Where an output lies outside the input along `axis`: the extrapolation value.
Ref extrapolate(LowerContext& c, Ref y, const AxisTaps& t, int axis) {
  Shape shape = c.shape(y);
  for (int i = 0; i < shape.rank(); ++i) shape[i] = i == axis ? shape[i] : 1;
  auto mask = Tensor::allocate(DType::boolean, shape);
  if (!mask.ok()) c.fail(mask.take_error());
  if (c.failed()) return kNoRef;
  std::ranges::copy(t.outside, mask->as_mutable<bool>().begin());
  return c.emit("Where", {c.constant(std::move(*mask)),
                          c.scalar(c.dtype(y), c.attrs().get_float("extrapolation_value", 0)), y});
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const ResizeRule rule, rule_of(c.attrs()));
  Tensor inputs[4];  // copies: the program's values move while operators are emitted
  for (int i = 1; i < 4; ++i)
    if (c.has(i) && c.shape(c.in(i)).elements() > 0 && c.constant(c.in(i))) inputs[i] = *c.constant(c.in(i));
  const auto pointer = [&](int i) { return inputs[i].defined() ? &inputs[i] : nullptr; };
  const Shape in = c.shape(c.in(0));
  WALLE_ASSIGN(std::vector<AxisPlan> plan, plan_axes(c.attrs(), in, pointer(1), pointer(2), pointer(3)));
  // Among enlarged axes the last goes first: its pass works element by element, the others row by row.
  std::ranges::stable_sort(plan, [](const AxisPlan& a, const AxisPlan& b) {
    if ((a.scale < 1) != (b.scale < 1)) return a.scale < 1;
    return a.scale < 1 ? a.scale < b.scale : a.axis > b.axis;
  });
  Ref y = c.in(0);
  const DType dtype = c.dtype(y);
  const bool blends = rule.mode != "nearest";
  // uint8 pictures are blended in float32; 32- and 64-bit integers need double to keep their digits.
  if (blends && !tensor::is_float(dtype))
    y = c.cast(y, dtype_size(dtype) < 4 ? DType::float32 : DType::float64);
  // Filled at the end: extrapolated values must not be blended by the next axis.
  std::vector<std::pair<int, AxisTaps>> outside;
  for (const AxisPlan& p : plan) {
    // An empty axis stays empty.
    if (in[p.axis] == 0) continue;
    const bool cropped = rule.coordinates == "tf_crop_and_resize" && (p.roi_begin != 0 || p.roi_end != 1);
    // Batch and channel axes, which exporters list with a scale of 1.
    if (p.scale == 1 && p.out == in[p.axis] && !cropped) continue;
    if (!c.may_tabulate(p.out * resize_tap_count(rule, in[p.axis], p.scale), kSearchWork)) return {};
    AxisTaps t = resize_taps(rule, in[p.axis], p.out, p.scale, p.roi_begin, p.roi_end);
    y = apply_taps(c, y, t, p.axis, p.out);
    if (!t.outside.empty()) outside.emplace_back(p.axis, std::move(t));
  }
  for (const auto& [axis, taps] : outside) y = extrapolate(c, y, taps, axis);
  c.result(0, c.cast(y, dtype));
  return {};
}
}  // namespace

extern const ir::OpDef kResizeOp{.name = "Resize",
                                 .op_class = ir::OpClass::composite,
                                 .inputs = {1, 4},
                                 .infer = infer,
                                 .lower = lower,
                                 .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
