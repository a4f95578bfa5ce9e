// GatherElements and ScatterElements (and its old name Scatter): one element per index, which replaces the
// coordinate along one axis. Loops of one-element rounds over the index tensor's box.
#include <array>

#include "ops/rules/gather.h"
#include "ops/rules/infer.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// Indices fit into data except along the axis.
Status check_box(const ir::InferContext& c, int axis) {
  const Shape& data = c.shape(0);
  const Shape& index = c.shape(1);
  bool fits = data.rank() == index.rank();
  for (int a = 0; fits && a < data.rank(); ++a)
    // Smaller along the other axes is allowed: the loop visits the indices' box only.
    fits = a == axis ? (data.dim(a) > 0 || index.dim_elements() == 0) : index.dim(a) <= data.dim(a);
  if (!fits)
    return model_error({"indices ", index.text(), " into ", data.text()},
                       {"indices of the same rank, not larger except along axis ", axis}, "input indices",
                       "correct the indices");
  return check_index_dtype(c, 1);
}

// Rounds over `box`; `dense` walks a tensor of that shape,
// `indexed` the data with the axis left to the index.
raster::LoopSpec element_loop(const Shape& data, const Shape& box, int axis, bool scatter) {
  raster::LoopSpec loop;
  loop.rank = box.rank();
  const Shape dense = box.strides();
  const Shape far = data.strides();
  for (int a = 0; a < box.rank(); ++a) {
    loop.size[a] = box.dim(a);
    (scatter ? loop.src_step : loop.dst_step)[a] = dense.dim(a);
    (scatter ? loop.dst_step : loop.src_step)[a] = a == axis ? Dim(0) : far.dim(a);
  }
  loop.index.push_back({far.dim(axis), data.dim(axis)});
  return loop;
}

Status infer_gather(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  WALLE_TRY(check_box(c, axis));
  c.output(0, c.dtype(0), c.shape(1));
  return {};
}

Status lower_gather(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), data.rank()));
  c.result(0, c.loop(element_loop(data, c.out_shape(0), axis, false), c.out_dtype(0), c.out_shape(0),
                     {c.in(0), c.in(1)}));
  return {};
}

Status infer_scatter(ir::InferContext& c) {
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  WALLE_TRY(check_box(c, axis));
  WALLE_ASSIGN(const raster::Combine combine, combine_of(c.attrs()));
  // A sum or product of booleans has no kernel, and ONNX none for min and max either.
  if (c.shape(1) != c.shape(2) || c.dtype(0) != c.dtype(2) ||
      (combine != raster::Combine::assign && c.dtype(0) == DType::boolean))
    return model_error(
        {"updates ", dtype_name(c.dtype(2)), c.shape(2).text()},
        {"the shape of the indices ", c.shape(1).text(), " and a dtype like the data that can be reduced"},
        "input updates", "correct them");
  c.output(0, c.dtype(0), c.shape(0));
  return {};
}

Status lower_scatter(LowerContext& c) {
  const Shape data = c.shape(c.in(0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), data.rank()));
  raster::LoopSpec loop = element_loop(data, c.shape(c.in(1)), axis, true);
  WALLE_ASSIGN(loop.combine, combine_of(c.attrs()));
  c.result(0, scatter_loop(c, std::move(loop), c.in(0), c.in(1), c.in(2)));
  return {};
}

constexpr ir::OpDef scatter_row(std::string_view name) {
  return {.name = name,
          .op_class = ir::OpClass::transform,
          .inputs = {3, 3},
          .infer = infer_scatter,
          .lower = lower_scatter};
}

constexpr std::array kRows{
    ir::OpDef{.name = "GatherElements",
              .op_class = ir::OpClass::transform,
              .inputs = {2, 2},
              .infer = infer_gather,
              .lower = lower_gather},
    scatter_row("ScatterElements"),
    scatter_row("Scatter"),
};
}  // namespace

extern const std::span<const ir::OpDef> kGatherElementsOps = kRows;

}  // namespace walle::ops
