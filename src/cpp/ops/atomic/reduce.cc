// Reductions with an elementary combining step: one atomic operator (Reduce) of five kinds. The others (L1,
// L2, LogSum, LogSumExp, SumSquare) are composites over these.
#include <array>

#include "ops/axis_rules.h"
#include "ops/registry.h"

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
    row("ReduceSum", ir::NumericClass::accumulation),  row("ReduceMean", ir::NumericClass::accumulation),
    row("ReduceProd", ir::NumericClass::accumulation), row("ReduceMax", ir::NumericClass::exact),
    row("ReduceMin", ir::NumericClass::exact),
};
}  // namespace

extern const std::span<const ir::OpDef> kReduceOps = kRows;

}  // namespace walle::ops
