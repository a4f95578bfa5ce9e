// Dropout: the input itself, or in training mode each element kept with probability 1 - ratio and scaled up.
// A given seed reproduces the mask that NumPy's generator of that seed draws.
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  if (c.has(2)) {
    WALLE_ASSIGN(const std::vector<int64_t> flag, c.need_i64(2));
    if (flag.size() != 1)
      return model_error({"training_mode of shape ", c.shape(2).text()}, "a scalar", "Dropout", "reshape it");
    // Only then: at inference the ratio is not read, and models feed it at run time.
    if (flag[0] && c.has(1)) WALLE_TRY(c.need(1));
  }
  c.output(0, c.dtype(0), c.shape(0));
  c.output(1, DType::boolean, c.shape(0));
  return {};
}

Result<double> ratio_of(LowerContext& c) {
  // ONNX's default.
  if (!c.has(1)) return 0.5;
  WALLE_ASSIGN(const std::vector<double> values, c.constant(c.in(1))->to_f64());
  if (values.size() != 1 || !(values[0] >= 0 && values[0] < 1))
    return model_error({"ratio ", values.empty() ? Text("of no elements") : Text(values[0])},
                       "a number in [0, 1)", "Dropout input 1", "correct the ratio");
  return values[0];
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  bool training = false;
  if (const Tensor* flag = c.constant(c.in(2))) {
    WALLE_ASSIGN(const std::vector<int64_t> value, flag->to_i64());
    training = value.size() == 1 && value[0] != 0;
  }
  double ratio = 0;
  if (training) {
    WALLE_ASSIGN(ratio, ratio_of(c));
  }
  // Also every model at inference, where Dropout is the identity and costs nothing.
  if (ratio == 0) {
    c.result(0, x);
    if (c.output_count() > 1) c.result(1, expand_to(c, c.scalar(DType::boolean, 1), c.shape(x)));
    return {};
  }
  // Drawn in double, as NumPy draws.
  const Shape shape = c.shape(x);
  ir::Attributes attributes{{"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                            {"dtype", static_cast<int64_t>(DType::float64)}};
  // Absent means another stream each run; a seed of 0 is a seed.
  if (c.attrs().has("seed")) attributes.set("seed", c.attrs().get_float("seed", 0));
  const Ref kept = c.emit(
      "GreaterOrEqual",
      {c.emit("RandomUniform", std::vector<Ref>{}, std::move(attributes)), c.scalar(DType::float64, ratio)});
  const Ref scaled = c.mul(x, c.scalar(c.dtype(x), 1 / (1 - ratio)));
  c.result(0, c.emit("Where", {kept, scaled, c.scalar(c.dtype(x), 0)}));
  if (c.output_count() > 1) c.result(1, kept);
  return {};
}
}  // namespace

extern const ir::OpDef kDropoutOp{.name = "Dropout",
                                  .op_class = ir::OpClass::composite,
                                  .inputs = {1, 3},
                                  .outputs = {1, 2},
                                  .infer = infer,
                                  .lower = lower,
                                  .deterministic = false};

}  // namespace walle::ops
