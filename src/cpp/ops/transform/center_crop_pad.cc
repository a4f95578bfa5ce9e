// CenterCropPad: the middle of each axis cropped, or zeros
// added around it, to reach the given sizes. One region.
#include <algorithm>

#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Result<Shape> target(const ir::Attributes& attrs, const Shape& in, const std::vector<Dim>& sizes,
                     int64_t element_size) {
  std::vector<int64_t> axes = attrs.get_ints("axes");
  if (!attrs.has("axes"))
    for (int a = 0; a < in.rank(); ++a) axes.push_back(a);
  WALLE_ASSIGN(const std::vector<int> at, unique_axes(axes, in.rank()));
  if (sizes.size() != at.size())
    return model_error({sizes.size(), " sizes for ", at.size(), " axes"}, "one size per axis", "input shape",
                       "correct it");
  Shape out = in;
  for (size_t i = 0; i < at.size(); ++i) out.set(at[i], sizes[i]);
  WALLE_TRY(out.check(element_size, "CenterCropPad"));
  return out;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> sizes, c.need_dims(1));
  WALLE_ASSIGN(const Shape out, target(c.attrs(), c.shape(0), sizes, dtype_size(c.dtype(0))));
  c.output(0, c.dtype(0), out);
  return {};
}

Status lower(LowerContext& c) {
  const Shape in = c.shape(c.in(0));
  const Shape& out = c.out_shape(0);
  Shape size = in;
  std::vector<Dim> from, to;
  for (int a = 0; a < in.rank(); ++a) {
    size.set(a, std::min(in.dim(a), out.dim(a)));
    // Rounded down on both sides: an odd element is cropped, or padded, at the end.
    from.push_back((in.dim(a) - size.dim(a)) / 2);
    to.push_back((out.dim(a) - size.dim(a)) / 2);
  }
  raster::Raster r;
  r.regions.push_back(box_region(0, size, {in, from}, {out, to}));
  // Only where something is padded: a full copy needs no zeros first.
  if (size != out) r.fill = raster::Fill{};
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kCenterCropPadOp{.name = "CenterCropPad",
                                        .op_class = ir::OpClass::transform,
                                        .inputs = {2, 2},
                                        .infer = infer,
                                        .lower = lower};

}  // namespace walle::ops
