// Element-wise operators of one operand: one atomic operator (Unary) of many kinds; the kind is the ONNX
// name. Clamp is Clip with constant bounds: attributes min and max.
#include <array>

#include "ops/infer_rules.h"
#include "ops/registry.h"

namespace walle::ops {

namespace {
Status infer_test(ir::InferContext& c) {
  c.output(0, DType::boolean, c.shape(0));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const auto n = static_cast<double>(out[0].shape.elements());
  return {n * 4, n * static_cast<double>(dtype_size(in[0].dtype) + dtype_size(out[0].dtype))};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer = infer_same) {
  return {.name = name,
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Unary"};
}

constexpr std::array kRows{
    row("Abs"),
    row("Acos"),
    row("Acosh"),
    row("Asin"),
    row("Asinh"),
    row("Atan"),
    row("Atanh"),
    row("Ceil"),
    row("Cos"),
    row("Cosh"),
    row("Elu"),
    row("Erf"),
    row("Exp"),
    row("Floor"),
    row("Gelu"),
    row("HardSigmoid"),
    row("HardSwish"),
    row("LeakyRelu"),
    row("Log"),
    row("Mish"),
    row("Neg"),
    row("Not"),
    row("BitwiseNot"),
    row("Reciprocal"),
    row("Relu"),
    row("Round"),
    row("Selu"),
    row("Sigmoid"),
    row("Sign"),
    row("Sin"),
    row("Sinh"),
    row("Softplus"),
    row("Softsign"),
    row("Sqrt"),
    row("Tan"),
    row("Tanh"),
    row("ThresholdedRelu"),
    row("Celu"),
    row("Shrink"),
    row("Clamp"),
    row("IsNaN", infer_test),
    row("IsInf", infer_test),
};
}  // namespace

extern const std::span<const ir::OpDef> kUnaryOps = kRows;

}  // namespace walle::ops
