#include "ops/rules/movement.h"

#include <algorithm>

namespace walle::ops {

namespace {
raster::View view_of(const Placed& placed) {
  raster::View v;
  const Shape strides = placed.shape.strides();
  for (int a = 0; a < placed.shape.rank(); ++a) {
    v.offset += placed.start[a] * strides.dim(a);
    v.stride[a] = strides.dim(a) * (placed.step.empty() ? Dim(1) : placed.step[a]);
  }
  return v;
}
}  // namespace

raster::Region box_region(int source, const Shape& size, const Placed& from, const Placed& to) {
  raster::Region r;
  r.source = source;
  r.rank = size.rank();
  for (int a = 0; a < r.rank; ++a) r.size[a] = size.dim(a);
  r.src = view_of(from);
  r.dst = view_of(to);
  return r;
}

Result<std::vector<int>> unique_axes(std::span<const int64_t> axes, int rank) {
  std::vector<int> out;
  for (int64_t axis : axes) {
    WALLE_ASSIGN(const int a, tensor::normalize_axis(axis, rank));
    // After normalising: -1 and rank - 1 are one axis.
    if (std::ranges::find(out, a) != out.end())
      return model_error({"axis ", axis, " twice"}, "each axis at most once", "axes",
                         "remove the repeated axis");
    out.push_back(a);
  }
  return out;
}

raster::Fill fill_of(const Tensor& value) {
  raster::Fill fill;
  // Of one element, whatever its dtype: a fill is bytes. An empty tensor leaves zeros.
  if (value.bytes() > 0) std::memcpy(fill.bytes.data(), value.data(), dtype_size(value.dtype()));
  return fill;
}

Result<std::vector<int64_t>> ints_of(const LowerContext& c, int i) {
  if (!c.has(i)) return std::vector<int64_t>{};
  const Tensor* value = c.constant(c.in(i));
  // The shape rule has asked need_i64() for it, so it is there.
  if (!value) return internal_error({"the value of input ", i, " is not known"}, "lowering");
  return value->to_i64();
}

Result<std::vector<Dim>> dims_of(const LowerContext& c, int i) {
  if (!c.has(i)) return std::vector<Dim>{};
  auto dims = c.dims(c.in(i));
  if (!dims) return internal_error({"the value of input ", i, " is not known"}, "lowering");
  return std::move(*dims);
}

void result_raster(LowerContext& c, raster::Raster raster) {
  c.result(0, c.raster(std::move(raster), c.dtype(c.in(0)), c.out_shape(0), {c.in(0)}));
}

}  // namespace walle::ops
