// RandomNormal and RandomUniform of attribute `shape`: one atomic operator of two kinds. The Like forms,
// Bernoulli, Multinomial and Dropout are composites over it.
#include <array>

#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const auto dtype = static_cast<DType>(c.attrs().get_int("dtype", static_cast<int64_t>(DType::float32)));
  // float8 is left out, as ONNX leaves it out: too coarse for a distribution.
  if (!tensor::is_float(dtype) || tensor::is_float8(dtype))
    return model_error({"dtype number ", c.attrs().get_int("dtype", 0)}, "a float dtype", "random numbers",
                       "correct dtype");
  WALLE_ASSIGN(const Shape shape,
               Shape::checked(c.attrs().get_ints("shape"), dtype_size(dtype), "attribute shape"));
  c.output(0, dtype, shape);
  return {};
}

constexpr ir::OpDef row(std::string_view name) {
  // Not deterministic: planning folds what has constant inputs only, and this has no inputs at all.
  return {.name = name,
          .inputs = {0, 0},
          .infer = infer,
          .deterministic = false,
          .family = "Random",
          .no_gradient = "it has no operands"};
}
constexpr std::array kRows{row("RandomNormal"), row("RandomUniform")};
}  // namespace

extern const std::span<const ir::OpDef> kRandomOps = kRows;

}  // namespace walle::ops
