// Element-wise operators of two operands with broadcasting: one atomic operator (Binary) of many kinds. Both
// operands have one dtype; Pow, which may mix them, is a composite over Power, and the variadic Min and Max
// are composites over Min2 and Max2.
#include <array>

#include "ops/infer_rules.h"
#include "ops/registry.h"

namespace walle::ops {

namespace {
// The slope broadcasts to x, never the other way round.
Status infer_prelu(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 2));
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), c.shape(1)));
  if (out != c.shape(0))
    return model_error("slope of shape " + c.shape(1).text(),
                       "a shape that broadcasts to " + c.shape(0).text(), "PRelu", "reshape the slope");
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  double bytes = static_cast<double>(out[0].shape.elements() * dtype_size(out[0].dtype));
  for (const auto& i : in) bytes += static_cast<double>(i.shape.elements() * dtype_size(i.dtype));
  return {static_cast<double>(out[0].shape.elements()), bytes};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer = infer_broadcast) {
  return {.name = name,
          .inputs = {2, 2},
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Binary"};
}

constexpr std::array kRows{
    row("Add"),
    row("Sub"),
    row("Mul"),
    row("Div"),
    row("Mod"),
    row("Power"),
    row("PRelu", infer_prelu),
    row("Min2"),
    row("Max2"),
    row("And"),
    row("Or"),
    row("Xor"),
    row("BitwiseAnd"),
    row("BitwiseOr"),
    row("BitwiseXor"),
    row("BitShift"),
    row("Equal", infer_compare),
    row("Greater", infer_compare),
    row("GreaterOrEqual", infer_compare),
    row("Less", infer_compare),
    row("LessOrEqual", infer_compare),
};
}  // namespace

extern const std::span<const ir::OpDef> kBinaryOps = kRows;

}  // namespace walle::ops
