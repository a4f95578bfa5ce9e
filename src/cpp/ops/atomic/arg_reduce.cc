// ArgMax and ArgMin: the index of the greatest or least
// element along one axis; one atomic operator of two kinds.
#include <array>

#include "ops/registry.h"
#include "ops/rules/axis.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  // An index of nothing cannot be given; ONNX is silent, NumPy refuses as well.
  if (c.shape(0).dim(axis) == 0)
    return model_error({"shape ", c.shape(0).text()}, {"at least one element along axis ", axis},
                       "ArgMax/ArgMin", "check for emptiness first");
  c.output(0, DType::int64, reduced_shape(c.shape(0), {axis}, c.attrs().get_int("keepdims", 1) != 0));
  return {};
}

// select_last_index is left in the attributes: only the kernel reads it.
constexpr ir::OpDef row(std::string_view name) {
  return {.name = name,
          .infer = infer,
          .family = "ArgReduce",
          .no_gradient = "positions are no numbers that vary"};
}
constexpr std::array kRows{
    row("ArgMax"),
    row("ArgMin"),
};
}  // namespace

extern const std::span<const ir::OpDef> kArgReduceOps = kRows;

}  // namespace walle::ops
