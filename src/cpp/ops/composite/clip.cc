// Clip to optional bounds. Constant bounds of a float become one Clamp (which convolutions can fuse);
// otherwise Max, then Min, so that the upper bound wins where the bounds cross.
#include <limits>

#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  for (int i = 1; i < 3; ++i)
    if (c.has(i) && c.shape(i).elements() != 1)
      return model_error({"a bound of shape ", c.shape(i).text()}, "a scalar", i == 1 ? "min" : "max",
                         "use Max and Min for bounds per element");
  return infer_same(c);
}

std::optional<double> bound(const LowerContext& c, int i, double otherwise) {
  if (!c.has(i)) return otherwise;
  const Tensor* t = c.constant(c.in(i));
  if (!t) return std::nullopt;
  const auto values = t->to_f64();
  // A NaN bound is left to Max and Min, which pass it on.
  if (!values.ok() || (*values)[0] != (*values)[0]) return std::nullopt;
  return (*values)[0];
}

Status lower(LowerContext& c) {
  Ref y = c.in(0);
  const auto low = bound(c, 1, -std::numeric_limits<double>::infinity());
  const auto high = bound(c, 2, std::numeric_limits<double>::infinity());
  // Relu6 comes as Clip(0, 6) since opset 11, with the bounds as constants.
  if (tensor::is_float(c.dtype(y)) && low && high && (c.has(1) || c.has(2))) {
    c.result(0, c.emit("Clamp", {y}, {{"min", *low}, {"max", *high}}));
    return {};
  }
  // Scalars of shape [1] are reshaped: as a vector they would add an axis to a scalar input.
  if (c.has(1)) y = c.emit("Max2", {y, c.reshape(c.in(1), Shape{})});
  if (c.has(2)) y = c.emit("Min2", {y, c.reshape(c.in(2), Shape{})});
  c.result(0, y);
  return {};
}
}  // namespace

extern const ir::OpDef kClipOp{.name = "Clip",
                               .op_class = ir::OpClass::composite,
                               .inputs = {1, 3},
                               .infer = infer,
                               .lower = lower,
                               .numeric = ir::NumericClass::exact};

}  // namespace walle::ops
