// Softmax and LogSoftmax along one axis: one atomic operator of two kinds.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"
#include "ops/rules/cost.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  // A few passes over a row that stays in the cache, read and written once.
  constexpr double kOperations = 8;
  const auto n = static_cast<double>(in[0].shape.elements());
  return {kOperations * n, 2 * bytes_of(in[0].shape, in[0].dtype)};
}

constexpr ir::OpDef row(std::string_view name) {
  return {.name = name,
          .infer = infer_along_axis,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation,
          .family = "Softmax"};
}
constexpr std::array kRows{row("Softmax"), row("LogSoftmax")};
}  // namespace

extern const std::span<const ir::OpDef> kSoftmaxOps = kRows;

}  // namespace walle::ops
