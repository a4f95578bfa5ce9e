// ReduceL1, L2, SumSquare, LogSum and LogSumExp: arithmetic around the elementary reductions.
#include <array>

#include "ops/lower.h"
#include "ops/registry.h"
#include "ops/rules/axis.h"

namespace walle::ops {

namespace {
Ref reduced(LowerContext& c, std::string_view op, Ref x) {
  return c.emit(op, {x, c.in(1)},
                {{"keepdims", c.attrs().get_int("keepdims", 1)},
                 {"noop_with_empty_axes", c.attrs().get_int("noop_with_empty_axes", 0)}});
}

// Roots and logarithms of integers are taken in double.
Ref through_float(LowerContext& c, std::string_view op, Ref x) {
  const DType own = c.dtype(x);
  if (tensor::is_float(own)) return c.emit(op, {x});
  return c.cast(c.emit(op, {c.cast(x, DType::float64)}), own);
}

Status lower_l1(LowerContext& c) {
  c.result(0, reduced(c, "ReduceSum", c.emit("Abs", {c.in(0)})));
  return {};
}
Status lower_sum_square(LowerContext& c) {
  // Also of integers, which wrap as NumPy's do.
  c.result(0, reduced(c, "ReduceSum", c.mul(c.in(0), c.in(0))));
  return {};
}
Status lower_l2(LowerContext& c) {
  c.result(0, through_float(c, "Sqrt", reduced(c, "ReduceSum", c.mul(c.in(0), c.in(0)))));
  return {};
}
Status lower_log_sum(LowerContext& c) {
  c.result(0, through_float(c, "Log", reduced(c, "ReduceSum", c.in(0))));
  return {};
}

// The maximum is taken out first so that exp cannot overflow;
// an infinite maximum stays in, or inf - inf would be NaN.
Status lower_log_sum_exp(LowerContext& c) {
  const DType own = c.dtype(c.in(0));
  const DType work = tensor::is_float(own) ? own : DType::float64;
  const Ref x = c.cast(c.in(0), work);
  const Ref top = c.emit(
      "ReduceMax", {x, c.in(1)},
      {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", c.attrs().get_int("noop_with_empty_axes", 0)}});
  const Ref shift = c.emit("Where", {c.emit("IsInf", {top}), c.scalar(work, 0), top});
  const Ref sum = reduced(c, "ReduceSum", c.emit("Exp", {c.sub(x, shift)}));
  // The shape of a reference that does not exist is empty, and the reshape below would report that instead of
  // the failure.
  if (c.failed()) return {};
  c.result(0, c.cast(c.add(c.emit("Log", {sum}), c.reshape(shift, c.shape(sum))), own));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {1, 2},
          .infer = infer_reduce,
          .lower = lower,
          .numeric = ir::NumericClass::accumulation};
}
constexpr std::array kRows{row("ReduceL1", lower_l1), row("ReduceL2", lower_l2),
                           row("ReduceSumSquare", lower_sum_square), row("ReduceLogSum", lower_log_sum),
                           row("ReduceLogSumExp", lower_log_sum_exp)};
}  // namespace

extern const std::span<const ir::OpDef> kReductionsOps = kRows;

}  // namespace walle::ops
