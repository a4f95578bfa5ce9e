// CumSum and CumProd: running sums and products along one axis (input 1), optionally exclusive or from the
// end.
#include <array>

#include "ops/gradient.h"
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

// What a prefix summed is summed by the suffixes.
Status gradient(GradientContext& c) {
  ir::Attributes a = c.attrs();
  a.set("reverse", int64_t{a.get_int("reverse", 0) == 0});
  c.result(0, c.emit("CumSum", {c.dy(0), c.in(1)}, a));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::GradientFn gradient, std::string_view no_gradient) {
  return {.name = name,
          .inputs = {2, 2},
          .infer = infer,
          .numeric = ir::NumericClass::accumulation,
          .family = "CumSum",
          .gradient = gradient,
          .no_gradient = no_gradient};
}
constexpr std::array kRows{row("CumSum", gradient, {}),
                           row("CumProd", nullptr, "a quotient that zeros leave undefined")};
}  // namespace

extern const std::span<const ir::OpDef> kCumSumOps = kRows;

}  // namespace walle::ops
