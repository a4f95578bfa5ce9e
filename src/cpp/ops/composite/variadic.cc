// Min, Max, Sum and Mean of any number of operands: chains of the two-operand kinds.
#include <array>

#include "ops/lower.h"
#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Ref chain(LowerContext& c, std::string_view op) {
  Ref out = c.in(0);
  // From left to right: a tree of sums would round differently from every other runtime.
  for (int i = 1; i < c.input_count(); ++i) out = c.emit(op, {out, c.in(i)});
  return out;
}

Status lower_min(LowerContext& c) {
  c.result(0, chain(c, "Min2"));
  return {};
}
Status lower_max(LowerContext& c) {
  c.result(0, chain(c, "Max2"));
  return {};
}
Status lower_sum(LowerContext& c) {
  c.result(0, chain(c, "Add"));
  return {};
}
Status lower_mean(LowerContext& c) {
  const Ref sum = chain(c, "Add");
  // Of one operand: integers would be divided by 1.
  c.result(0, c.input_count() == 1 ? sum : c.div(sum, c.scalar(c.dtype(sum), c.input_count())));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {1, -1},
          .infer = infer_broadcast,
          .lower = lower,
          .numeric = ir::NumericClass::elementwise};
}
constexpr std::array kRows{row("Min", lower_min), row("Max", lower_max), row("Sum", lower_sum),
                           row("Mean", lower_mean)};
}  // namespace

extern const std::span<const ir::OpDef> kVariadicOps = kRows;

}  // namespace walle::ops
