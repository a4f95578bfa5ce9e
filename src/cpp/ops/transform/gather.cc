// Gather: slices of an axis chosen by an index tensor. A loop whose rounds are the indices; with few constant
// indices it is a raster, so that it merges with its neighbours (Gather of a shape, channel shuffles).
#include "ops/rules/gather.h"
#include "ops/rules/infer.h"
#include "ops/rules/movement.h"
#include "raster/simplify.h"

namespace walle::ops {

namespace {
// As a raster a gather merges with its neighbours, but each of its regions is
// carried through every merge; a loop costs one look-up per index. Longer lists
// are not even read, and runs of equal steps are joined before they count.
constexpr int64_t kMaxConstantIndices = 4096;
constexpr size_t kMaxConstantRuns = 256;
constexpr size_t kMaxConstantRegions = 32;

Status infer(ir::InferContext& c) {
  const Shape& data = c.shape(0);
  WALLE_TRY(check_index_dtype(c, 1));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), data.rank()));
  WALLE_TRY(check_rank(data.rank() - 1 + c.rank(1), "Gather"));
  Shape shape = data.sub(0, axis);
  for (int a = 0; a < c.rank(1); ++a) shape.push_back(c.shape(1).dim(a));
  for (int a = axis + 1; a < data.rank(); ++a) shape.push_back(data.dim(a));
  WALLE_TRY(shape.check(dtype_size(c.dtype(0)), "Gather"));
  // Else the loop would be refused index by index while it runs.
  if (data.dim(axis) == 0 && shape.dim_elements() > 0)
    return model_error("indices into an axis of size 0", "an axis with elements", "input data",
                       "correct the axis");
  c.output(0, c.dtype(0), shape);
  return {};
}

raster::Region box(std::initializer_list<Dim> size, Dim src, std::initializer_list<Dim> src_stride, Dim dst,
                   std::initializer_list<Dim> dst_stride) {
  return raster::strided_box(0, Shape(std::span(size)), src, Shape(std::span(src_stride)), dst,
                             Shape(std::span(dst_stride)));
}

// Regions for indices known while planning; nullopt when there would be many.
Result<std::optional<raster::Raster>> constant_gather(const Tensor& indices, Dim outer, Dim dim, Dim inner) {
  if (indices.elements() > kMaxConstantIndices) return std::optional<raster::Raster>{};
  WALLE_ASSIGN(std::vector<int64_t> list, indices.to_i64());
  const auto count = static_cast<int64_t>(list.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t& at = list[i];
    WALLE_ASSIGN(at, checked_index(at, dim, i));
  }
  raster::Raster r;
  for (size_t i = 0, n = 1; i < list.size(); i += n) {  // a region for each run of equal steps
    // Given up early: runs are counted before simplify() joins what it can, which takes time for each.
    if (r.regions.size() == kMaxConstantRuns) return std::optional<raster::Raster>{};
    const int64_t step = i + 1 < list.size() ? list[i + 1] - list[i] : 0;
    for (n = 1; i + n < list.size() && list[i + n] - list[i + n - 1] == step;) ++n;
    r.regions.push_back(box({outer, n, inner}, list[i] * inner, {dim * inner, step * inner, 1}, i * inner,
                            {count * inner, inner, 1}));
  }
  raster::simplify(r);
  if (r.regions.size() > kMaxConstantRegions) return std::optional<raster::Raster>{};
  return std::optional(std::move(r));
}

Status lower(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  const Shape out = c.out_shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), data.rank()));
  const Dim outer = data.dim_product(0, axis);
  const Dim inner = data.dim_product(axis + 1, data.rank());
  const Dim count = c.shape(c.in(1)).dim_elements();
  if (const Tensor* indices = c.constant(c.in(1))) {
    WALLE_ASSIGN(std::optional<raster::Raster> r, constant_gather(*indices, outer, data.dim(axis), inner));
    if (r) {
      result_raster(c, std::move(*r));
      return {};
    }
  }
  raster::LoopSpec loop;
  loop.rank = 1;
  loop.size[0] = count;
  loop.dst_step[0] = inner;
  loop.body = box({outer, inner}, 0, {data.dim(axis) * inner, 1}, 0, {count * inner, 1});
  loop.index.push_back({inner, data.dim(axis)});
  c.result(0, c.loop(std::move(loop), c.out_dtype(0), out, {c.in(0), c.in(1)}));
  return {};
}
}  // namespace

extern const ir::OpDef kGatherOp{
    .name = "Gather", .op_class = ir::OpClass::transform, .inputs = {2, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
