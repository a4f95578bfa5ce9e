// Element-wise operators of two operands with broadcasting: one
// atomic operator (Binary) of the kinds of tensor/kinds/binary.inc.
#include <array>

#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "tensor/kinds.h"

namespace walle::ops {

namespace {
// The slope broadcasts to x, never the other way round.
Status infer_prelu(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, 2));
  WALLE_ASSIGN(const Shape out, tensor::broadcast(c.shape(0), c.shape(1)));
  if (out != c.shape(0))
    return model_error({"slope of shape ", c.shape(1).text()},
                       {"a shape that broadcasts to ", c.shape(0).text()}, "PRelu", "reshape the slope");
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  // One operation per result, whichever it is: all but Power and Mod are bound by memory, and those two have
  // one kernel, so nothing is chosen by their cost.
  return {static_cast<double>(out[0].shape.elements()), bytes_of(in, out)};
}

constexpr ir::InferFn infer_of(BinaryKind kind, tensor::BinaryClass group) {
  if (kind == BinaryKind::prelu) return infer_prelu;
  return group == tensor::BinaryClass::compare ? infer_compare : infer_broadcast;
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer) {
  return {.name = name,
          .inputs = {2, 2},
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Binary"};
}

constexpr std::array kRows{
#define WALLE_BINARY(kind, name, group) row(name, infer_of(BinaryKind::kind, tensor::BinaryClass::group)),
#include "tensor/kinds/binary.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kBinaryOps = kRows;

}  // namespace walle::ops
