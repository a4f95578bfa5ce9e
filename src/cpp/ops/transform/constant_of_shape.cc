// ConstantOfShape and EyeLike: tensors known but for their shape. Fills, and a diagonal of ones.
#include <algorithm>
#include <array>

#include "ops/rules/infer.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Status infer_constant(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> dims, c.need_dims(0));
  const Tensor* value = c.attrs().get_tensor("value");
  if (value && value->elements() != 1)
    return model_error({"a value of shape ", value->shape().text()}, "one element", "attribute value",
                       "correct the value");
  // ONNX's default is one float32 zero.
  const DType dtype = value ? value->dtype() : DType::float32;
  WALLE_ASSIGN(const Shape out, checked_shape(dims, dtype, "ConstantOfShape"));
  c.output(0, dtype, out);
  return {};
}

Status lower_constant(LowerContext& c) {
  const Tensor* value = c.attrs().get_tensor("value");
  raster::Raster r;
  // A fill and no source: the tensor takes no memory until it is run, however large the shape.
  r.fill = value ? fill_of(*value) : raster::Fill{};
  c.result(0, c.raster(std::move(r), c.out_dtype(0), c.out_shape(0), {}));
  return {};
}

Status infer_eye(ir::InferContext& c) {
  if (c.rank(0) != 2)
    return model_error({"data ", c.shape(0).text()}, "a matrix", "input 0", "give a rank-2 tensor");
  const auto dtype = static_cast<DType>(c.attrs().get_int("dtype", static_cast<int64_t>(c.dtype(0))));
  if (!tensor::visit_all(dtype, [](auto) {}))
    return model_error({"dtype ", c.attrs().get_int("dtype", 0)}, "a numeric or boolean dtype",
                       "attribute dtype", "correct it");
  c.output(0, dtype, c.shape(0));
  return {};
}

Status lower_eye(LowerContext& c) {
  const Shape out = c.out_shape(0);
  // Diagonals beyond the corners are all empty; the clamp keeps their arithmetic from overflowing.
  const int64_t limit = out[0] + out[1];
  const int64_t k = std::clamp(c.attrs().get_int("k", 0), -limit, limit);
  const int64_t row = std::max<int64_t>(0, -k);
  const int64_t column = std::max<int64_t>(0, k);
  const int64_t size[] = {std::min(out[0] - row, out[1] - column)};
  raster::Raster r;
  r.fill = raster::Fill{};
  if (size[0] > 0) {
    const int64_t from[] = {0};
    // A row and a column further: the diagonal is one strided line.
    const int64_t to[] = {out[1] + 1};
    r.regions.push_back(raster::strided_region(0, size, 0, from, row * out[1] + column, to));
  }
  c.result(0, c.raster(std::move(r), c.out_dtype(0), out, {c.scalar(c.out_dtype(0), 1)}));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "ConstantOfShape",
              .op_class = ir::OpClass::transform,
              .infer = infer_constant,
              .lower = lower_constant},
    ir::OpDef{.name = "EyeLike", .op_class = ir::OpClass::transform, .infer = infer_eye, .lower = lower_eye},
};
}  // namespace

extern const std::span<const ir::OpDef> kConstantOfShapeOps = kRows;

}  // namespace walle::ops
