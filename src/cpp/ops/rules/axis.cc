#include "ops/rules/axis.h"

#include <algorithm>

namespace walle::ops {

Result<std::vector<int>> reduce_axes(const std::vector<int64_t>& axes, int rank, bool noop) {
  std::vector<int> out;
  // ONNX Reduce: no axes means all of them, unless noop_with_empty_axes (opset 13 for ReduceSum, 18 for the
  // others) says none.
  if (axes.empty() && !noop)
    for (int i = 0; i < rank; ++i) out.push_back(i);
  for (int64_t axis : axes) {
    WALLE_ASSIGN(const int a, tensor::normalize_axis(axis, rank, "axes"));
    // An axis twice would be divided by twice in a mean.
    if (std::ranges::find(out, a) != out.end())
      return model_error({"axis ", axis, " twice"}, "distinct axes", "axes", "remove the duplicate");
    out.push_back(a);
  }
  return out;
}

Shape reduced_shape(const Shape& in, const std::vector<int>& axes, bool keepdims) {
  Shape out;
  // In order, so that the kept axes keep theirs whatever the order of `axes`.
  for (int i = 0; i < in.rank(); ++i) {
    const bool reduced = std::ranges::find(axes, i) != axes.end();
    if (!reduced)
      out.push_back(in.dim(i));
    else if (keepdims)
      out.push_back(1);
  }
  return out;
}

Status infer_reduce(ir::InferContext& c) {
  std::vector<int64_t> given;
  if (c.has(1)) {
    WALLE_ASSIGN(given, c.need_i64(1));
  }
  WALLE_ASSIGN(const std::vector<int> axes,
               reduce_axes(given, c.rank(0), c.attrs().get_int("noop_with_empty_axes", 0) != 0));
  c.output(0, c.dtype(0), reduced_shape(c.shape(0), axes, c.attrs().get_int("keepdims", 1) != 0));
  return {};
}

Status infer_along_axis(ir::InferContext& c) {
  const int64_t axis = c.attrs().get_int("axis", -1);
  // A scalar has no axis, but exporters write the default all the same.
  if (c.rank(0) > 0 || (axis != 0 && axis != -1)) WALLE_TRY(tensor::normalize_axis(axis, c.rank(0)));
  c.output(0, c.dtype(0), c.shape(0));
  return {};
}

}  // namespace walle::ops
