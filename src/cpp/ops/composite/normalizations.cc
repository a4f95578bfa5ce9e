// InstanceNormalization, GroupNormalization (scale and bias per channel,
// opset 21), MeanVarianceNormalization and LpNormalization. The first two
// are layer normalisation of reshaped data followed by a scale per channel.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
constexpr double kVarianceFloor = 1e-9;  // of MeanVarianceNormalization, as ONNX's function body has it

Status infer_channels(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 1));
  if (c.rank(0) < 2)
    return model_error({"input of shape ", c.shape(0).text()}, "at least a batch and a channel axis",
                       "normalisation", "reshape the input");
  for (int i = 1; i < 3; ++i)
    if (c.shape(i).dim_elements() != c.shape(0).dim(1))
      return model_error({"shape ", c.shape(i).text()},
                         {c.shape(0).dim(1).value(), " elements, one per channel"}, i == 1 ? "scale" : "bias",
                         "check the parameters");
  return infer_same(c);
}

Status infer_groups(ir::InferContext& c) {
  WALLE_TRY(infer_channels(c));
  const int64_t groups = c.attrs().get_int("num_groups", 0);
  if (groups <= 0 || c.shape(0)[1] % groups != 0)
    return model_error({"num_groups=", groups}, {"a divisor of ", c.shape(0)[1], " channels"},
                       "GroupNormalization", "correct num_groups");
  return {};
}

// Every channel group of every image normalised on its own, then scale and bias per channel.
Status normalize_groups(LowerContext& c, int64_t groups) {
  const Ref x = c.in(0);
  const Shape shape = c.shape(x);
  if (shape.dim_elements() == 0) {
    c.result(0, x);
    return {};
  }
  // A group's channels lie together, so its elements are one row.
  const Dim count = shape.dim(0) * groups;
  const Shape rows = Shape::of({count, shape.dim_elements() / count});
  // LayerNormalization's scale is not optional. Scale and bias of the channels follow as an operation of
  // their own, because they vary along rows of the flattened data.
  const Ref one = c.reshape(c.scalar(c.dtype(x), 1), Shape{1});
  const Ref flat = c.emit("LayerNormalization", {c.reshape(x, rows), one},
                          {{"axis", int64_t{1}}, {"epsilon", c.attrs().get_float("epsilon", 1e-5)}});
  const Ref scale = along_axis(c, c.cast(c.in(1), c.dtype(x)), 1, shape.rank());
  const Ref bias = along_axis(c, c.cast(c.in(2), c.dtype(x)), 1, shape.rank());
  c.result(0, c.add(c.mul(c.reshape(flat, shape), scale), bias));
  return {};
}

Status lower_instance(LowerContext& c) { return normalize_groups(c, c.shape(c.in(0))[1]); }
Status lower_group(LowerContext& c) { return normalize_groups(c, c.attrs().get_int("num_groups", 1)); }

Status infer_mean_variance(ir::InferContext& c) {
  // ONNX's default is for images [N, C, H, W]: per channel over the batch.
  WALLE_TRY(reduce_axes(c.attrs().get_ints("axes", {0, 2, 3}), c.rank(0), false));
  return infer_same(c);
}

Status lower_mean_variance(LowerContext& c) {
  const std::vector<int64_t> axes = c.attrs().get_ints("axes", {0, 2, 3});
  const Ref centred = c.sub(c.in(0), c.reduce("ReduceMean", c.in(0), axes, true));
  const Ref variance = c.reduce("ReduceMean", c.mul(centred, centred), axes, true);
  c.result(0, c.div(centred, c.add(c.emit("Sqrt", {variance}), c.scalar(c.dtype(centred), kVarianceFloor))));
  return {};
}

Status infer_lp(ir::InferContext& c) {
  const int64_t p = c.attrs().get_int("p", 2);
  if (p != 1 && p != 2) return model_error({"p=", p}, "1 or 2", "LpNormalization", "use ReduceSum of powers");
  return infer_along_axis(c);
}

// A zero vector stays zero.
Status lower_lp(LowerContext& c) {
  const std::string_view op = c.attrs().get_int("p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  const Ref norm = c.reduce(op, c.in(0), {c.attrs().get_int("axis", -1)}, true);
  const Ref zero = c.emit("Equal", {norm, c.scalar(c.dtype(norm), 0)});
  c.result(0, c.div(c.in(0), c.emit("Where", {zero, c.scalar(c.dtype(norm), 1), norm})));
  return {};
}

constexpr ir::OpDef row(std::string_view name, int inputs, ir::InferFn infer, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {inputs, inputs},
          .infer = infer,
          .lower = lower,
          .numeric = ir::NumericClass::accumulation};
}
constexpr std::array kRows{row("InstanceNormalization", 3, infer_channels, lower_instance),
                           row("GroupNormalization", 3, infer_groups, lower_group),
                           row("MeanVarianceNormalization", 1, infer_mean_variance, lower_mean_variance),
                           row("LpNormalization", 1, infer_lp, lower_lp)};
}  // namespace

extern const std::span<const ir::OpDef> kNormalizationsOps = kRows;

}  // namespace walle::ops
