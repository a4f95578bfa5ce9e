// CumSum and CumProd: running sums and products along one axis (input 1), optionally exclusive or from the
// end.
#include <array>

#include "ops/registry.h"
#include "ops/rules/infer.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<int64_t> axis, c.need_i64(1));
  // ONNX gives the axis as a tensor; CumSum of a computed axis has no fixed strides.
  if (axis.size() != 1) return model_error({axis.size(), " axes"}, "one axis", "input axis", "give a scalar");
  WALLE_TRY(tensor::normalize_axis(axis[0], c.rank(0)));
  return infer_same(c);
}

constexpr ir::OpDef row(std::string_view name) {
  return {.name = name,
          .inputs = {2, 2},
          .infer = infer,
          .numeric = ir::NumericClass::accumulation,
          .family = "CumSum"};
}
constexpr std::array kRows{row("CumSum"), row("CumProd")};
}  // namespace

extern const std::span<const ir::OpDef> kCumSumOps = kRows;

}  // namespace walle::ops
