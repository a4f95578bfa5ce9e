// Element-wise operators of two operands with broadcasting: one atomic operator (Binary) of many kinds.
#include <array>

#include "ops/infer_rules.h"
#include "ops/registry.h"

namespace walle::ops {

namespace {
// Pow, the shifts and PRelu-like kinds may mix dtypes on the right; the result has the left dtype.
Status infer_left(ir::InferContext& c) {
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), c.shape(1)));
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput> out) {
  double bytes = static_cast<double>(out[0].shape.elements() * dtype_size(out[0].dtype));
  for (const auto& i : in) bytes += static_cast<double>(i.shape.elements() * dtype_size(i.dtype));
  return {static_cast<double>(out[0].shape.elements()), bytes};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer = infer_broadcast) {
  return {.name = name, .inputs = {2, 2}, .infer = infer, .cost = cost, .numeric = ir::NumericClass::elementwise, .family = "Binary"};
}

constexpr std::array kRows{
    row("Add"), row("Sub"), row("Mul"), row("Div"), row("Mod"), row("Pow", infer_left), row("Min2"), row("Max2"), row("And"), row("Or"), row("Xor"),
    row("BitwiseAnd"), row("BitwiseOr"), row("BitwiseXor"), row("BitShift"), row("Equal", infer_compare), row("Greater", infer_compare),
    row("GreaterOrEqual", infer_compare), row("Less", infer_compare), row("LessOrEqual", infer_compare),
};
}  // namespace

extern const std::span<const ir::OpDef> kBinaryOps = kRows;

}  // namespace walle::ops
