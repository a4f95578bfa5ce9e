// Softmax and LogSoftmax along one axis: one atomic operator of two kinds.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"

namespace walle::ops {

namespace {
ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  const auto n = static_cast<double>(in[0].shape.elements());
  return {n * 8, n * 2 * static_cast<double>(dtype_size(in[0].dtype))};
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
