// Split: consecutive slices along an axis, by sizes (input split),
// by count (num_outputs, the last may be shorter), or equal.
#include <algorithm>

#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Result<std::vector<Dim>> part_sizes(ir::InferContext& c, Dim dim) {
  const int64_t outputs = c.output_count();
  if (c.has(1)) {
    WALLE_ASSIGN(std::vector<Dim> sizes, c.need_dims(1));
    // Subtracted from what is left: adding up a file's sizes might overflow.
    Dim left = dim;
    for (const Dim s : sizes) left = s < 0 || s > left ? Dim(-1) : left - s;
    if (static_cast<int64_t>(sizes.size()) != outputs || left != 0)
      return model_error({sizes.size(), " split sizes for ", outputs, " outputs of an axis of ", dim.value()},
                         "one size per output, summing to the axis", "input split", "correct the sizes");
    return sizes;
  }
  // num_outputs since opset 18; before it the number of outputs said it.
  const int64_t parts = c.attrs().get_int("num_outputs", outputs);
  if (parts != outputs || parts < 1)
    return model_error({"num_outputs ", parts, " with ", outputs, " outputs"}, "equal numbers",
                       "attribute num_outputs", "correct it");
  // Before opset 18 parts had to be equal; num_outputs allows a shorter last one.
  if (!c.attrs().has("num_outputs") && dim % parts != 0)
    return model_error({"an axis of ", dim.value(), " in ", parts, " parts"}, "a multiple of the parts",
                       "Split", "give the sizes in input split");
  const Dim size = (dim + parts - 1) / parts;
  std::vector<Dim> sizes;
  // Clamped: 5 elements in 4 parts are 2, 2, 1 and 0.
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<Dim>(dim - i * size, 0, size));
  return sizes;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  WALLE_ASSIGN(const std::vector<Dim> sizes, part_sizes(c, c.shape(0).dim(axis)));
  for (int i = 0; i < c.output_count(); ++i) {
    Shape out = c.shape(0);
    out.set(axis, sizes[i]);
    c.output(i, c.dtype(0), out);
  }
  return {};
}

Status lower(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), data.rank()));
  const std::vector<Dim> zeros(data.rank(), 0);
  std::vector<Dim> from = zeros;
  for (int i = 0; i < c.output_count(); ++i) {
    const Shape part = c.out_shape(i);
    raster::Raster r;
    r.regions.push_back(box_region(0, part, {data, from}, {part, zeros}));
    c.result(i, c.raster(std::move(r), c.out_dtype(i), part, {c.in(0)}));
    from[axis] += part.dim(axis);
  }
  return {};
}
}  // namespace

extern const ir::OpDef kSplitOp{.name = "Split",
                                .op_class = ir::OpClass::transform,
                                .inputs = {1, 2},
                                .outputs = {1, -1},
                                .infer = infer,
                                .lower = lower};

}  // namespace walle::ops
