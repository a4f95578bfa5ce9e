// Reductions with an elementary combining step: one atomic operator (Reduce) of the kinds of
// tensor/kinds/reduce.inc.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const auto n = static_cast<double>(in[0].shape.elements());
  return {n,
          (n + static_cast<double>(out[0].shape.elements())) * static_cast<double>(dtype_size(in[0].dtype))};
}

constexpr ir::OpDef row(std::string_view name, ir::NumericClass numeric) {
  return {.name = name,
          .inputs = {1, 2},
          .infer = infer_reduce,
          .cost = cost,
          .numeric = numeric,
          .family = "Reduce"};
}

constexpr std::array kRows{
#define WALLE_REDUCE(kind, name, numeric) row(name, ir::NumericClass::numeric),
#include "tensor/kinds/reduce.inc"
};
}  // namespace

extern const std::span<const ir::OpDef> kReduceOps = kRows;

}  // namespace walle::ops
