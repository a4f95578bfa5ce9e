// Concat: tensors one after the other along an axis. One region per input.
#include "ops/rules/infer.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  Shape out = c.shape(0);
  // Required since opset 4; 0 by default would hide a damaged file.
  if (!c.attrs().has("axis")) return model_error("no axis", "the attribute axis", "Concat", "add it");
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), out.rank()));
  for (int i = 1; i < c.input_count(); ++i) {
    const Shape& part = c.shape(i);
    bool fits = c.has(i) && part.rank() == out.rank();
    for (int a = 0; fits && a < out.rank(); ++a) fits = a == axis || part.dim(a) == out.dim(a);
    if (!fits)
      return model_error({"parts ", c.shape(0).text(), " and ", part.text()},
                         {"equal sizes except along axis ", axis}, {"input ", i},
                         "correct the shapes or the axis");
    // Sizes of real tensors: their sum over the inputs, at most 2^14, cannot overflow.
    out.set(axis, out.dim(axis) + part.dim(axis));
  }
  WALLE_TRY(out.check(dtype_size(c.dtype(0)), "Concat"));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  const Shape& out = c.out_shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), out.rank()));
  const std::vector<Dim> zeros(out.rank(), 0);
  std::vector<Dim> to = zeros;
  raster::Raster r;
  std::vector<Ref> sources;
  for (int i = 0; i < c.input_count(); ++i) {
    const Shape part = c.shape(c.in(i));
    r.regions.push_back(box_region(i, part, {part, zeros}, {out, to}));
    to[axis] += part.dim(axis);
    sources.push_back(c.in(i));
  }
  c.result(0, c.raster(std::move(r), c.out_dtype(0), out, sources));
  return {};
}
}  // namespace

extern const ir::OpDef kConcatOp{
    .name = "Concat", .op_class = ir::OpClass::transform, .inputs = {1, -1}, .infer = infer, .lower = lower};

}  // namespace walle::ops
