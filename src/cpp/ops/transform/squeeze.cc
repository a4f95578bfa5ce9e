// Squeeze and Unsqueeze: unit axes removed or inserted. The elements stay where they are.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Status infer_squeeze(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  std::vector<bool> drop(in.rank(), false);
  if (c.has(1)) {
    WALLE_ASSIGN(const std::vector<int64_t> axes, c.need_i64(1));
    WALLE_ASSIGN(const std::vector<int> at, unique_axes(axes, in.rank()));
    for (int a : at) {
      // ONNX refuses to drop an axis that has more than one element; NumPy does the same.
      if (in.dim(a) != 1)
        return model_error({"axis ", a, " of ", in.text()}, "an axis of size 1", "input axes",
                           "correct the axes");
      drop[a] = true;
    }
  } else {
    // Without axes every unit axis goes, a batch of 1 as well: that is ONNX's rule, whatever the exporter
    // meant.
    for (int a = 0; a < in.rank(); ++a) drop[a] = in.dim(a) == 1;
  }
  Shape out;
  for (int a = 0; a < in.rank(); ++a)
    if (!drop[a]) out.push_back(in.dim(a));
  c.output(0, c.dtype(0), out);
  return {};
}

Status infer_unsqueeze(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  WALLE_ASSIGN(const std::vector<int64_t> axes, c.need_i64(1));
  if (std::ssize(axes) + in.rank() > base::kMaxRank)
    return model_error({axes.size(), " axes added to ", in.text()}, {"a rank of at most ", base::kMaxRank},
                       "Unsqueeze", "use fewer axes");
  // Axes of Unsqueeze count in the result.
  const int rank = in.rank() + static_cast<int>(axes.size());
  WALLE_ASSIGN(const std::vector<int> at, unique_axes(axes, rank));
  Shape out;
  for (int a = 0, from = 0; a < rank; ++a)
    out.push_back(std::ranges::find(at, a) != at.end() ? Dim(1) : in.dim(from++));
  c.output(0, c.dtype(0), out);
  return {};
}

Status infer_flatten(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  const int64_t given = c.attrs().get_int("axis", 1);
  const int64_t axis = given < 0 ? given + in.rank() : given;
  // Flatten's axis may be the rank itself: [all, 1].
  if (axis < 0 || axis > in.rank())
    return model_error({"axis ", given}, {"an axis in [-rank, rank] of ", in.text()}, "attribute axis",
                       "correct the axis");
  const auto a = static_cast<int>(axis);
  Shape out;
  out.push_back(in.dim_product(0, a));
  out.push_back(in.dim_product(a, in.rank()));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  c.result(0, c.reshape(c.in(0), c.out_shape(0)));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "Squeeze",
              .op_class = ir::OpClass::transform,
              .inputs = {1, 2},
              .infer = infer_squeeze,
              .lower = lower},
    ir::OpDef{.name = "Unsqueeze",
              .op_class = ir::OpClass::transform,
              .inputs = {2, 2},
              .infer = infer_unsqueeze,
              .lower = lower},
    ir::OpDef{.name = "Flatten", .op_class = ir::OpClass::transform, .infer = infer_flatten, .lower = lower},
};
}  // namespace

extern const std::span<const ir::OpDef> kSqueezeOps = kRows;

}  // namespace walle::ops
