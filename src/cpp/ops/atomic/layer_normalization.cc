// LayerNormalization over the axes from `axis` on, with its statistics as optional results; RMSNormalization
// takes the mean as 0. One atomic operator of two kinds.
#include <array>

#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), x.rank()));
  const Shape normalized = x.sub(axis, x.rank());
  for (int i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    const auto fits = tensor::broadcast(normalized, c.shape(i));
    if (!fits.ok() || *fits != normalized)
      return model_error({"shape ", c.shape(i).text()}, {"a shape that broadcasts to ", normalized.text()},
                         "scale or bias", "reshape it or change axis");
  }
  c.output(0, c.dtype(0), x);
  // The statistics are float32 whatever X is: ONNX's stash_type, in its default.
  Shape statistics = x;
  for (int i = axis; i < x.rank(); ++i) statistics[i] = 1;
  c.output(1, DType::float32, statistics);
  c.output(2, DType::float32, statistics);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  // A few passes over a row that stays in the cache, read and written once.
  constexpr double kOperations = 8;
  const auto n = static_cast<double>(in[0].shape.elements());
  return {kOperations * n, 2 * bytes_of(in[0].shape, in[0].dtype)};
}

constexpr ir::OpDef row(std::string_view name, int inputs, int outputs) {
  return {.name = name,
          .inputs = {2, inputs},
          .outputs = {1, outputs},
          .infer = infer,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation,
          .family = "LayerNormalization"};
}
constexpr std::array kRows{row("LayerNormalization", 3, 3), row("RMSNormalization", 2, 1)};
}  // namespace

extern const std::span<const ir::OpDef> kLayerNormalizationOps = kRows;

}  // namespace walle::ops
