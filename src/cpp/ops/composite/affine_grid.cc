// AffineGrid: sampling positions for GridSample: theta applied
// to the regular grid over [-1, 1], one matrix product.
#include "ops/lower.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<int64_t> size, c.need_i64(1));
  const Shape& theta = c.shape(0);
  const auto n = static_cast<int64_t>(size.size()) - 2;
  if ((n != 2 && n != 3) || theta.rank() != 3 || theta[0] != size[0] || theta[1] != n || theta[2] != n + 1)
    return model_error({"theta", theta.text(), " for a size of ", size.size(), " entries"},
                       "theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W]",
                       "AffineGrid", "correct theta or size");
  std::vector<int64_t> dims{size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(n);
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, dtype_size(c.dtype(0)), "AffineGrid"));
  c.output(0, c.dtype(0), out);
  return {};
}

// Of element i in [-1, 1]: centres of the outer elements on the ends (align), or the ends of the image.
double position(int64_t i, int64_t size, bool align) {
  const auto n = static_cast<double>(size);
  // An axis of one element has no two ends; -1 is where PyTorch and ONNX's reference put it.
  if (align) return size == 1 ? -1.0 : -1.0 + 2.0 * static_cast<double>(i) / (n - 1);
  return -1.0 + (2.0 * static_cast<double>(i) + 1.0) / n;
}

// [points, n + 1]: the coordinates of every grid point, last axis first, then 1.
Result<Tensor> regular_grid(const Shape& out, bool align) {
  const int n = out.rank() - 2;
  const int64_t points = out.product(1, n + 1);
  // In double and cast: the grid is a constant, and one rounding is better than two.
  WALLE_ASSIGN(Tensor grid, Tensor::allocate(DType::float64, Shape{points, n + 1}));
  auto at = grid.as_mutable<double>();
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    for (int axis = n; axis >= 1; --axis) {
      at[p * (n + 1) + (n - axis)] = position(rest % out[axis], out[axis], align);
      rest /= out[axis];
    }
    at[p * (n + 1) + n] = 1.0;
  }
  return grid;
}

Status lower(LowerContext& c) {
  const Shape& out = c.out_shape(0);
  const DType dtype = c.out_dtype(0);
  const bool narrow = tensor::is_half_float(dtype);
  // Steps of 2 / n near 1 are lost in 16 bits from some thousand elements on.
  const DType compute = narrow ? DType::float32 : dtype;
  // Before the table is made: its size comes from an input's value.
  if (!c.may_tabulate(out.product(1, out.rank() - 1) * (out.rank() - 1), kNumberWork)) return {};
  WALLE_ASSIGN(Tensor grid, regular_grid(out, c.attrs().get_int("align_corners", 0) != 0));
  const Ref base = c.cast(c.constant(std::move(grid)), compute);
  const Ref theta = c.transpose(c.cast(c.in(0), compute), {0, 2, 1});
  c.result(0, c.cast(c.reshape(c.emit("MatMul", {base, theta}), out), dtype));
  return {};
}
}  // namespace

extern const ir::OpDef kAffineGridOp{.name = "AffineGrid",
                                     .op_class = ir::OpClass::composite,
                                     .inputs = {2, 2},
                                     .infer = infer,
                                     .lower = lower,
                                     .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
