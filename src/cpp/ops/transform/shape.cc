// Shape: the dimensions [start, end) of the input as int64. Known while planning, so it never runs.
#include <algorithm>

#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const int rank = c.rank(0);
  // start and end since opset 15, clamped like a Python slice.
  const auto clip = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = clip(c.attrs().get_int("start", 0));
  const int64_t end = std::max(start, clip(c.attrs().get_int("end", rank)));
  std::vector<Dim> dims;
  for (int64_t a = start; a < end; ++a) dims.push_back(c.shape(0).dim(static_cast<int>(a)));
  return c.output_sizes(0, Shape{end - start}, std::move(dims));
}

Status lower(LowerContext&) { return internal_error("Shape is answered by its shape rule", "Shape"); }
}  // namespace

extern const ir::OpDef kShapeOp{
    .name = "Shape", .op_class = ir::OpClass::transform, .infer = infer, .lower = lower};

}  // namespace walle::ops
