// Softmax and LogSoftmax along one axis: one atomic operator of two kinds.
#include <array>

#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/axis.h"
#include "ops/rules/cost.h"
#include "ops/rules/formula.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  // A few passes over a row that stays in the cache, read and written once.
  constexpr double kOperations = 8;
  const auto n = static_cast<double>(in[0].shape.elements());
  return {kOperations * n, 2 * bytes_of(in[0].shape, in[0].dtype)};
}

template <bool Logarithm>
Status gradient(GradientContext& c) {
  const int rank = c.out_shape(0).rank();
  if (rank == 0) return {};  // always 1
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), rank));
  const Term g(c, c.dy(0));
  const Term y(c, c.y(0));
  const auto sum = [&](const Term& t) { return Term(c, c.reduce("ReduceSum", t.ref(), {axis}, true)); };
  c.result(0, (Logarithm ? g - exp(y) * sum(g) : y * (g - sum(g * y))).ref());
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::GradientFn gradient) {
  return {.name = name,
          .infer = infer_along_axis,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation,
          .family = "Softmax",
          .gradient = gradient};
}
constexpr std::array kRows{row("Softmax", gradient<false>), row("LogSoftmax", gradient<true>)};
}  // namespace

extern const std::span<const ir::OpDef> kSoftmaxOps = kRows;

}  // namespace walle::ops
