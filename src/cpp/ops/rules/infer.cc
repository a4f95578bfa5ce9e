#include "ops/rules/infer.h"

namespace walle::ops {

Status infer_same(ir::InferContext& c) {
  c.output(0, c.dtype(0), c.shape(0));
  return {};
}

Status same_dtypes(const ir::InferContext& c, int from, int to) {
  // Left-out optional inputs have no dtype to differ.
  for (int i = from + 1; i < to; ++i)
    if (c.has(i) && c.dtype(i) != c.dtype(from))
      return model_error({"inputs of ", dtype_name(c.dtype(from)), " and ", dtype_name(c.dtype(i))},
                         "inputs of one dtype", {"input ", i}, "insert a Cast");
  return {};
}

Status check_rank(size_t rank, const char* where) {
  if (rank <= static_cast<size_t>(base::kMaxRank)) return {};
  return Shape::checked(std::vector<int64_t>(rank, 1), 1, where).status();
}

namespace {
Status broadcast_all(ir::InferContext& c, DType dtype) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  Shape out = c.shape(0);
  // From 0, so that a first input left out is named as well.
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) return model_error({"input ", i, " left out"}, "a tensor", "inputs", "connect the input");
    WALLE_ASSIGN(out, tensor::broadcast(out, c.shape(i)));
  }
  c.output(0, dtype, out);
  return {};
}
}  // namespace

Status infer_broadcast(ir::InferContext& c) { return broadcast_all(c, c.dtype(0)); }
Status infer_compare(ir::InferContext& c) { return broadcast_all(c, DType::boolean); }

Result<Shape> checked_shape(std::span<const Dim> dims, DType dtype, const char* where) {
  WALLE_TRY(check_rank(dims.size(), where));
  const Shape shape(dims);
  WALLE_TRY(shape.check(dtype_size(dtype), where));
  return shape;
}

}  // namespace walle::ops
