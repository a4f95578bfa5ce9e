// PostTransform: what the classifiers and regressors of ai.onnx.ml do with their scores at the end, numbered
// as TreeEnsemble numbers it. The last two are onnxruntime's formulas to the digit, because ONNX does not
// define them: SOFTMAX_ZERO leaves scores of zero out of the softmax, PROBIT is Winitzki's approximation of
// the inverse error function ("A handy approximation for the error function and its inverse", 2008).
#include "ops/lower.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
enum class Kind : int64_t { none, softmax, logistic, softmax_zero, probit };
constexpr double kZero = 1e-7;  // scores below this count as none
// As many digits as onnxruntime has: more would give other results. kA is Winitzki's constant.
constexpr double kPi = 3.14159;
constexpr double kSqrt2 = 1.41421356;
constexpr double kA = 0.147;

Status infer(ir::InferContext& c) {
  const int64_t kind = c.attrs().get_int("kind", 0);
  if (kind < 0 || kind > static_cast<int64_t>(Kind::probit) || c.rank(0) < 1 || !tensor::is_float(c.dtype(0)))
    return model_error({"post transform ", kind, " of ", c.shape(0).text()},
                       "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT of floats", "PostTransform",
                       "check the node");
  return infer_same(c);
}

Ref softmax_zero(LowerContext& c, Ref x) {
  const DType dtype = c.dtype(x);
  const Ref most = c.reduce("ReduceMax", x, {-1}, true);
  const Ref raised = c.emit("Exp", {c.sub(x, most)});
  // Scores of zero stay (nearly) zero instead of taking part as exp(0) = 1.
  const Ref counts = c.emit("Greater", {c.emit("Abs", {x}), c.scalar(dtype, kZero)});
  const Ref sum = c.reduce("ReduceSum", c.emit("Where", {counts, raised, c.scalar(dtype, 0)}), {-1}, true);
  const Ref shrunk = c.mul(x, c.emit("Exp", {c.emit("Neg", {most})}));
  return c.div(c.emit("Where", {counts, raised, shrunk}), sum);
}

Ref probit(LowerContext& c, Ref p) {
  const DType dtype = c.dtype(p);
  const auto number = [&](double v) { return c.scalar(dtype, v); };
  const Ref x = c.sub(c.mul(number(2), p), number(1));
  const Ref log = c.emit("Log", {c.mul(c.sub(number(1), x), c.add(number(1), x))});
  const Ref v = c.add(number(2 / (kPi * kA)), c.mul(number(0.5), log));
  const Ref root = c.emit("Sqrt", {c.sub(c.mul(v, v), c.mul(number(1 / kA), log))});
  const Ref size = c.emit("Sqrt", {c.sub(root, v)});
  const Ref negative = c.emit("Less", {x, number(0)});
  return c.mul(number(kSqrt2), c.emit("Where", {negative, c.emit("Neg", {size}), size}));
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  switch (static_cast<Kind>(c.attrs().get_int("kind", 0))) {
    case Kind::none: c.result(0, c.emit("Identity", {x})); break;
    case Kind::softmax: c.result(0, c.emit("Softmax", {x}, {{"axis", int64_t{-1}}})); break;
    case Kind::logistic: c.result(0, c.emit("Sigmoid", {x})); break;
    case Kind::softmax_zero: c.result(0, softmax_zero(c, x)); break;
    case Kind::probit: c.result(0, probit(c, x)); break;
  }
  return {};
}
}  // namespace

extern const ir::OpDef kPostTransformOp{.name = "PostTransform",
                                        .op_class = ir::OpClass::composite,
                                        .infer = infer,
                                        .lower = lower,
                                        .numeric = ir::NumericClass::elementwise};

}  // namespace walle::ops
