// Reductions with an elementary combining step: one atomic
// operator (Reduce) of the kinds of tensor/kinds/reduce.inc.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"
#include "ops/rules/cost.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  return {static_cast<double>(in[0].shape.elements()),
          bytes_of(in[0].shape, in[0].dtype) + bytes_of(out[0].shape, out[0].dtype)};
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
