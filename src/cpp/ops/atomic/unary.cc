// Element-wise operators of one operand: one atomic operator (Unary) of the kinds of tensor/kinds/unary.inc.
#include <array>

#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
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

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer) {
  return {.name = name,
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Unary"};
}

constexpr std::array kRows{
#define WALLE_UNARY(kind, name, group) row(name, infer_of(tensor::UnaryClass::group)),
#include "tensor/kinds/unary.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kUnaryOps = kRows;

}  // namespace walle::ops
