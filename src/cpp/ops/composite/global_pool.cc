// GlobalAveragePool, GlobalMaxPool, GlobalLpPool: reductions over every spatial axis of [N, C, ...].
#include <array>

#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  if (x.rank() < 3)
    return model_error({"an input of shape ", x.text()}, "batch, channels and at least one spatial axis",
                       "input X", "reshape the input");
  Shape out = x;
  for (int i = 2; i < out.rank(); ++i) {
    if (x.dim(i) == 0)
      return model_error({"an empty spatial axis in ", x.text()}, "at least one element per axis", "input X",
                         "check the shapes before this node");
    out.set(i, 1);
  }
  c.output(0, c.dtype(0), out);
  return {};
}

std::vector<int64_t> spatial_axes(LowerContext& c) {
  std::vector<int64_t> axes;
  for (int i = 2; i < c.shape(c.in(0)).rank(); ++i) axes.push_back(i);
  return axes;
}

Status lower_average(LowerContext& c) {
  // A reduction over merged axes: the last ones lie together, so the kernel sees one run per channel.
  c.result(0, c.reduce("ReduceMean", c.in(0), spatial_axes(c), true));
  return {};
}

Status lower_max(LowerContext& c) {
  c.result(0, c.reduce("ReduceMax", c.in(0), spatial_axes(c), true));
  return {};
}

Status lower_lp(LowerContext& c) {
  const int64_t p = c.attrs().get_int("p", 2);
  if (p < 1) return model_error({"p of ", p}, "1 or more", "attribute p", "correct p");
  const DType dtype = c.dtype(c.in(0));
  // p = 2 becomes a product there.
  const Ref powers = c.emit("Pow", {c.emit("Abs", {c.in(0)}), c.scalar(dtype, static_cast<double>(p))});
  const Ref sum = c.reduce("ReduceSum", powers, spatial_axes(c), true);
  c.result(0, c.emit("Pow", {sum, c.scalar(dtype, 1.0 / static_cast<double>(p))}));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::LowerFn lower, ir::NumericClass numeric) {
  return {
      .name = name, .op_class = ir::OpClass::composite, .infer = infer, .lower = lower, .numeric = numeric};
}

constexpr std::array kRows{
    row("GlobalAveragePool", lower_average, ir::NumericClass::accumulation),
    row("GlobalMaxPool", lower_max, ir::NumericClass::exact),
    row("GlobalLpPool", lower_lp, ir::NumericClass::accumulation),
};
}  // namespace

extern const std::span<const ir::OpDef> kGlobalPoolOps = kRows;

}  // namespace walle::ops
