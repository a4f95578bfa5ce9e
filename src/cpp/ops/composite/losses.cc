// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss:
// pick the log-probability of each target, weigh, reduce.
#include <array>
#include <utility>

#include "ops/registry.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  const auto wrong = [](Text given, Text expected, Text where) {
    return model_error(given, expected, where, "check the loss's inputs");
  };
  // Classes are axis 1, positions the axes behind it (images, sequences).
  if (x.rank() < 2) return wrong({"scores of shape ", x.text()}, "[batch, classes, ...]", "input 0");
  Shape positions{x[0]};
  for (int i = 2; i < x.rank(); ++i) positions.push_back(x[i]);
  if (c.shape(1) != positions)
    return wrong({"targets of shape ", c.shape(1).text()}, positions.text(), "input 1");
  if (c.dtype(1) != DType::int32 && c.dtype(1) != DType::int64)
    return wrong({"targets of ", dtype_name(c.dtype(1))}, "int32 or int64", "input 1");
  if (c.has(2) && c.shape(2) != Shape{x[1]})
    return wrong({"weights of shape ", c.shape(2).text()}, Shape{x[1]}.text(), "input 2");
  const std::string reduction = c.attrs().get_string("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return wrong({"reduction '", reduction, "'"}, "none, sum or mean", "attribute reduction");
  c.output(0, c.dtype(0), reduction == "none" ? positions : Shape{});
  c.output(1, c.dtype(0), x);
  return {};
}

// Which targets are ignored; kNoRef when none can be, because their dtype does not hold the number.
Ref ignored_targets(LowerContext& c, Ref target) {
  if (!c.attrs().has("ignore_index")) return kNoRef;
  const int64_t index = c.attrs().get_int("ignore_index", -1);
  if (c.dtype(target) == DType::int64) return c.emit("Equal", {target, c.reshape(c.ints({index}), Shape{})});
  // PyTorch's default ignore_index is -100; a file may hold any int64.
  if (!std::in_range<int32_t>(index)) return kNoRef;
  return c.emit("Equal", {target, c.scalar(DType::int32, static_cast<double>(index))});
}

// Where the target is ignored the class is 0 and the weight 0.
Status loss(LowerContext& c, Ref log_probability) {
  const DType dtype = c.dtype(log_probability);
  Ref target = c.in(1);
  const Shape positions = c.shape(target);
  Ref counted = kNoRef;
  if (const Ref ignored = ignored_targets(c, target); ignored >= 0) {
    counted = c.emit("Not", {ignored});
    target = c.emit("Where", {ignored, c.scalar(c.dtype(target), 0), target});
  }
  Shape one_class = c.shape(log_probability);
  one_class[1] = 1;
  // One element per position by its class: GatherElements along axis 1.
  const Ref picked =
      c.emit("GatherElements", {log_probability, c.reshape(target, one_class)}, {{"axis", int64_t{1}}});
  Ref value = c.emit("Neg", {c.reshape(picked, positions)});
  Ref weight = c.has(2) ? c.emit("Gather", {c.in(2), target}, {{"axis", int64_t{0}}}) : kNoRef;
  if (counted >= 0)
    weight = c.emit("Where", {counted, weight >= 0 ? weight : c.scalar(dtype, 1), c.scalar(dtype, 0)});
  // By selection, not by a weight of 0: the loss of an ignored target may be infinite, and 0 * inf is NaN.
  if (counted >= 0) value = c.emit("Where", {counted, value, c.scalar(dtype, 0)});
  if (weight >= 0) value = c.mul(value, weight);
  // A weighted mean is divided by the weights that counted, not by their number.
  const std::string reduction = c.attrs().get_string("reduction", "mean");
  const ir::Attributes flat{{"keepdims", int64_t{0}}};
  if (reduction == "sum") value = c.emit("ReduceSum", {value}, flat);
  if (reduction == "mean" && weight < 0) value = c.emit("ReduceMean", {value}, flat);
  if (reduction == "mean" && weight >= 0)
    value = c.div(c.emit("ReduceSum", {value}, flat),
                  c.emit("ReduceSum", {expand_to(c, weight, positions)}, flat));
  c.result(0, value);
  return {};
}

Status lower_nll(LowerContext& c) { return loss(c, c.in(0)); }

Status lower_cross_entropy(LowerContext& c) {
  const Ref log_probability = c.emit("LogSoftmax", {c.in(0)}, {{"axis", int64_t{1}}});
  if (c.output_count() > 1) c.result(1, log_probability);
  return loss(c, log_probability);
}

constexpr ir::OpDef row(std::string_view name, int outputs, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {2, 3},
          .outputs = {1, outputs},
          .infer = infer,
          .lower = lower,
          .numeric = ir::NumericClass::accumulation};
}
constexpr std::array kRows{row("NegativeLogLikelihoodLoss", 1, lower_nll),
                           row("SoftmaxCrossEntropyLoss", 2, lower_cross_entropy)};
}  // namespace

extern const std::span<const ir::OpDef> kLossesOps = kRows;

}  // namespace walle::ops
