// Element-wise operators of one operand: one atomic operator (Unary) of the kinds of tensor/kinds/unary.inc.
#include <array>

#include "base/unreached.h"
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/formula.h"
#include "ops/rules/infer.h"
#include "ops/rules/kinds.h"
#include "tensor/kinds.h"

namespace walle::ops {

namespace {
Status infer_test(ir::InferContext& c) {
  c.output(0, DType::boolean, c.shape(0));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  // Between one operation (Abs) and a dozen (Exp): most are bound by memory anyhow.
  constexpr double kOperations = 4;
  return {kOperations * static_cast<double>(out[0].shape.elements()), bytes_of(in, out)};
}

constexpr ir::InferFn infer_of(tensor::UnaryClass group) {
  return group == tensor::UnaryClass::test ? infer_test : infer_same;
}

// y = x / 2 * (1 + tanh(u)) with u = kA * (x + kB * x^3).
Term gelu_tanh_slope(const Term& x) {
  constexpr double kA = 2 * kInvSqrtPi * kInvSqrt2;
  constexpr double kB = 0.044715;  // Hendrycks and Gimpel (2016)
  const Term squared = x * x;
  const Term t = tanh(kA * x * (1 + kB * squared));
  return 0.5 * (1 + t) + 0.5 * kA * x * (1 - t * t) * (1 + 3 * kB * squared);
}

// y = x * tanh(softplus(x)), and the slope of softplus is the sigmoid.
Term mish_slope(const Term& x) {
  const Term t = tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

Term gradient_of(UnaryKind kind, double alpha, double beta, const Term& x, const Term& y, const Term& g) {
  switch (kind) {
#define WALLE_UNARY(kind, name, group, gradient) \
  case UnaryKind::kind: return gradient;
#define WALLE_UNARY_VARIANT(kind, group, gradient) \
  case UnaryKind::kind: return gradient;
#define WALLE_UNARY_WITH(kind, name, group, alpha, alpha_default, beta, beta_default, gradient) \
  case UnaryKind::kind: return gradient;
#include "tensor/kinds/unary.inc"
  }
  return base::unreached(Term(0));
}

Status gradient(GradientContext& c) {
  const auto kind = unary_kind(c.node().op->name, c.attrs());
  if (!kind) return internal_error("no unary kind", c.node().op->name);
  const UnaryParams p = unary_params(*kind, c.attrs());
  c.result(0, gradient_of(*kind, p.alpha, p.beta, {c, c.in(0)}, {c, c.y(0)}, {c, c.dy(0)}).ref());
  return {};
}

// Shrink is defined on integers as well: with fractions for lambda and bias, and cut to whole numbers.
Status lower_shrink(LowerContext& c) {
  const DType dtype = c.dtype(c.in(0));
  if (tensor::is_float(dtype)) return {};
  c.result(0, c.cast(c.emit("Shrink", {c.cast(c.in(0), DType::float64)}, c.attrs()), dtype));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer) {
  return {.name = name,
          .infer = infer,
          .lower = name == "Shrink" ? lower_shrink : nullptr,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Unary",
          .gradient = gradient};
}

constexpr std::array kRows{
#define WALLE_UNARY(kind, name, group, ...) row(name, infer_of(tensor::UnaryClass::group)),
#include "tensor/kinds/unary.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kUnaryOps = kRows;

}  // namespace walle::ops
