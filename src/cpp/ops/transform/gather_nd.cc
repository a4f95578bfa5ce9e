// GatherND and ScatterND: the last axis of the indices is a coordinate tuple of the data's leading axes.
// Loops whose rounds are the tuples and whose body is the contiguous rest of the data.
#include <algorithm>
#include <array>

#include "ops/rules/gather.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// The tuple length after `batch` common leading axes.
Result<int> tuple_length(const Shape& data, const Shape& index, int64_t batch) {
  bool fits =
      batch >= 0 && data.rank() > 0 && index.rank() > 0 && batch < data.rank() && batch < index.rank();
  for (int a = 0; fits && a < batch; ++a) fits = data.dim(a) == index.dim(a);
  const int64_t k = fits ? index.back() : 0;
  fits = fits && k >= 1 && k <= data.rank() - batch;
  for (int a = 0; fits && a < k; ++a)
    // Tuples into an empty axis are errors; without tuples, or without data to miss, there is nothing wrong.
    fits = data.dim(static_cast<int>(batch) + a) > 0 || index.dim_elements() == 0 || data.dim_elements() > 0;
  if (!fits)
    return model_error({"indices ", index.text(), " into ", data.text(), " with ", batch, " batch axes"},
                       "equal batch axes and tuples of 1 to rank coordinates", "input indices",
                       "correct the indices");
  return static_cast<int>(k);
}

raster::LoopSpec tuple_loop(const Shape& data, const Shape& index, int batch, int k) {
  raster::LoopSpec loop;
  const Shape strides = data.strides();
  const Dim slice = data.dim_product(batch + k, data.rank());
  loop.body = raster::contiguous_region(0, slice);
  // One bound per coordinate: the kernel names the one that is out of range.
  for (int a = 0; a < k; ++a) loop.index.push_back({strides.dim(batch + a), data.dim(batch + a)});
  // Batches and tuples: the batch moves the data as well, the tuple does not.
  loop.rank = 2;
  loop.size[0] = index.dim_product(0, batch);
  loop.size[1] = index.dim_product(batch, index.rank() - 1);
  return loop;
}

// A slice of the data, which begins with axis `from`, for each tuple.
Result<Shape> slices(const Shape& data, const Shape& index, int from, DType dtype) {
  std::vector<Dim> out;
  for (int a = 0; a < index.rank() - 1; ++a) out.push_back(index.dim(a));
  for (int a = from; a < data.rank(); ++a) out.push_back(data.dim(a));
  return checked_shape(out, dtype, "slices by index tuples");
}

Status infer_gather(ir::InferContext& c) {
  const Shape& data = c.shape(0);
  const Shape& index = c.shape(1);
  const int64_t batch = c.attrs().get_int("batch_dims", 0);
  WALLE_TRY(check_index_dtype(c, 1));
  WALLE_ASSIGN(const int k, tuple_length(data, index, batch));
  WALLE_ASSIGN(const Shape shape, slices(data, index, static_cast<int>(batch) + k, c.dtype(0)));
  c.output(0, c.dtype(0), shape);
  return {};
}

Status lower_gather(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  const Shape index = c.shape(c.in(1));
  const auto batch = static_cast<int>(c.attrs().get_int("batch_dims", 0));
  WALLE_ASSIGN(const int k, tuple_length(data, index, batch));
  raster::LoopSpec loop = tuple_loop(data, index, batch, k);
  const Dim slice = loop.body.size[0];
  // A batch further in the indices is one further in the data.
  loop.src_step[0] = data.dim_product(batch, data.rank());
  loop.dst_step[0] = loop.size[1] * slice;
  loop.dst_step[1] = slice;
  c.result(0, c.loop(std::move(loop), c.out_dtype(0), c.out_shape(0), {c.in(0), c.in(1)}));
  return {};
}

Status infer_scatter(ir::InferContext& c) {
  const Shape& data = c.shape(0);
  const Shape& index = c.shape(1);
  WALLE_TRY(check_index_dtype(c, 1));
  WALLE_ASSIGN(const int k, tuple_length(data, index, 0));
  WALLE_ASSIGN(const raster::Combine combine, combine_of(c.attrs()));
  WALLE_ASSIGN(const Shape updates, slices(data, index, k, c.dtype(0)));
  const bool fits = updates == c.shape(2) && c.dtype(2) == c.dtype(0);
  // Sums and products of booleans are not defined by ONNX ScatterND; replacing them is.
  if (!fits || (combine != raster::Combine::assign && c.dtype(0) == DType::boolean))
    return model_error({"updates ", dtype_name(c.dtype(2)), c.shape(2).text(), " for indices ", index.text(),
                        " into ", data.text()},
                       "one slice of the data per index tuple, of a dtype that can be reduced",
                       "input updates", "correct the updates");
  c.output(0, c.dtype(0), data);
  return {};
}

Status lower_scatter(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  const Shape index = c.shape(c.in(1));
  WALLE_ASSIGN(const int k, tuple_length(data, index, 0));
  raster::LoopSpec loop = tuple_loop(data, index, 0, k);
  // Without batch axes: all rounds are in the second axis.
  loop.src_step[1] = loop.body.size[0];
  WALLE_ASSIGN(loop.combine, combine_of(c.attrs()));
  c.result(0, scatter_loop(c, std::move(loop), c.in(0), c.in(1), c.in(2)));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "GatherND",
              .op_class = ir::OpClass::transform,
              .inputs = {2, 2},
              .infer = infer_gather,
              .lower = lower_gather},
    ir::OpDef{.name = "ScatterND",
              .op_class = ir::OpClass::transform,
              .inputs = {3, 3},
              .infer = infer_scatter,
              .lower = lower_scatter},
};
}  // namespace

extern const std::span<const ir::OpDef> kGatherNDOps = kRows;

}  // namespace walle::ops
