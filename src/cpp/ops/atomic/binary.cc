// Element-wise operators of two operands with broadcasting: one
// atomic operator (Binary) of the kinds of tensor/kinds/binary.inc.
#include <array>

#include "base/unreached.h"
#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/formula.h"
#include "ops/rules/infer.h"
#include "ops/rules/kinds.h"
#include "ops/rules/views.h"
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

Term gradient_of(BinaryKind kind, bool second, const Term& a, const Term& b, const Term& y, const Term& g) {
  switch (kind) {
#define WALLE_BINARY(kind, name, group, first, other) \
  case BinaryKind::kind: return second ? Term(other) : Term(first);
#define WALLE_BINARY_VARIANT(kind, group, first, other) \
  case BinaryKind::kind: return second ? Term(other) : Term(first);
#include "tensor/kinds/binary.inc"
  }
  return base::unreached(Term(0));
}

Status gradient(GradientContext& c) {
  const auto kind = binary_kind(c.node().op->name, c.attrs());
  if (!kind) return internal_error("no binary kind", c.node().op->name);
  for (int i = 0; i < 2; ++i) {
    if (!c.wants(i)) continue;
    const Term g = gradient_of(*kind, i == 1, {c, c.in(0)}, {c, c.in(1)}, {c, c.y(0)}, {c, c.dy(0)});
    if (!g.is_number()) c.result(i, sum_to(c, g.ref(), c.out_shape(i)));
  }
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer) {
  return {.name = name,
          .inputs = {2, 2},
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::elementwise,
          .family = "Binary",
          .gradient = gradient};
}

constexpr std::array kRows{
#define WALLE_BINARY(kind, name, group, ...) \
  row(name, infer_of(BinaryKind::kind, tensor::BinaryClass::group)),
#include "tensor/kinds/binary.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kBinaryOps = kRows;

}  // namespace walle::ops
