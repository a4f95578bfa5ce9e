// Tile: every axis repeated a number of times. Each repeated
// axis becomes two: repeats (source stride 0) and elements.
#include "ops/rules/movement.h"
#include "raster/simplify.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> repeats, c.need_dims(1));
  if (static_cast<int>(repeats.size()) != c.rank(0))
    return model_error({repeats.size(), " repeats for ", c.shape(0).text()}, "one repeat per axis",
                       "input repeats", "correct the repeats");
  Shape out = c.shape(0);
  for (int a = 0; a < out.rank(); ++a) {
    const Dim n = repeats[a];
    const auto size = raster::checked_mul(out.dim(a), n);
    // Products of a file's numbers, before any is believed.
    if (n < 0 || !size)
      return model_error({"repeat ", n.value()}, "zero or more", "input repeats", "correct the repeats");
    out.set(a, *size);
  }
  WALLE_TRY(out.check(dtype_size(c.dtype(0)), "Tile"));
  c.output(0, c.dtype(0), out);
  return {};
}

// More repeated axes than a region has room for are tiled in two steps, half of them each.
Status lower(LowerContext& c) {
  const Shape in = c.shape(c.in(0));
  const Shape out = c.out_shape(0);
  const Shape ss = in.strides();
  const Shape ds = out.strides();
  raster::Raster r;
  // The division below needs axes with elements.
  if (out.dim_elements() == 0) {
    result_raster(c, std::move(r));
    return {};
  }
  std::vector<raster::RegionAxis> axes;
  for (int a = 0; a < in.rank(); ++a) {
    axes.push_back({out.dim(a) / in.dim(a), 0, ds.dim(a) * in.dim(a)});
    axes.push_back({in.dim(a), ss.dim(a), ds.dim(a)});
  }
  if (const auto region = raster::region_from_axes(0, 0, 0, axes)) {
    r.regions.push_back(*region);
    result_raster(c, std::move(r));
    return {};
  }
  // Half of the axes that are repeated at a time: one alone always fits, because the others merge around it.
  int repeated = 0;
  for (int a = 0; a < in.rank(); ++a) repeated += out[a] != in[a];
  std::vector<int64_t> first(in.rank(), 1);
  std::vector<int64_t> rest = first;
  for (int a = 0, seen = 0; a < in.rank(); ++a) {
    if (out[a] == in[a]) continue;
    (seen++ < repeated / 2 ? first : rest)[a] = out[a] / in[a];
  }
  c.result(0, c.emit("Tile", {c.emit("Tile", {c.in(0), c.ints(first)}), c.ints(rest)}));
  return {};
}
}  // namespace

extern const ir::OpDef kTileOp{
    .name = "Tile", .op_class = ir::OpClass::transform, .inputs = {2, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
