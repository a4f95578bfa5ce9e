#include "array/matmul.h"

#include <algorithm>
#include <cstring>

#include "array/movement.h"
#include "array/promote.h"
#include "array/ready.h"
#include "kernels/eltwise/broadcast.h"
#include "kernels/eltwise/cast.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_reference.h"

namespace walle::array {

namespace {

// Between two questions whether to stop: 4 ms of float32, 50 ms of the plain loop.
constexpr int64_t kProductsPerQuestion = int64_t{1} << 26;
constexpr int64_t kLeastRows =
    64;  // B is packed once per question: that is to cost little beside the product

// One operand as matrices: a row or a column has an axis of one element for what it lacks.
struct Matrices {
  const std::byte* data = nullptr;
  Shape batch;
  Layout layout;  // of the batch
  int64_t rows = 0, cols = 0, row_stride = 0, col_stride = 0;
};

enum class Side : uint8_t { left, right };

Matrices as_matrices(const std::byte* data, const Layout& layout, Side side) {
  Matrices out{.data = data};
  const int rank = layout.rank();
  const int last = rank - 1;
  if (rank == 1) {
    const int64_t n = layout.shape[0];
    const int64_t step = layout.stride[0];
    return side == Side::left ? Matrices{.data = data, .rows = 1, .cols = n, .col_stride = step}
                              : Matrices{.data = data, .rows = n, .cols = 1, .row_stride = step};
  }
  for (int axis = 0; axis + 1 < last; ++axis) {
    out.batch.push_back(layout.shape[axis]);
    out.layout.stride[axis] = layout.stride[axis];
  }
  out.layout.shape = out.batch;
  out.rows = layout.shape[last - 1];
  out.cols = layout.shape[last];
  out.row_stride = layout.stride[last - 1];
  out.col_stride = layout.stride[last];
  return out;
}

struct Sizes {
  int64_t m = 0, k = 0, n = 0;
  int64_t rows_per_question() const {
    return std::clamp(kProductsPerQuestion / std::max<int64_t>(k * n, 1), kLeastRows,
                      std::max(m, kLeastRows));
  }
};

Error stopped() {
  return resource_error("a product of matrices", "time for it", "", "raise the limit of the call");
}

Status product_f32(const Sizes& of, const Matrices& x, int64_t x_offset, const Matrices& y, int64_t y_offset,
                   float* out, std::byte* workspace, Budget& budget) {
  kernels::Gemm gemm{.n = of.n, .k = of.k, .c_row = of.n};
  gemm.b = {reinterpret_cast<const float*>(y.data) + y_offset, y.row_stride, y.col_stride};
  const int64_t step = of.rows_per_question();
  for (int64_t row = 0; row < of.m; row += step) {
    if (budget.must_stop()) return stopped();
    gemm.m = std::min(step, of.m - row);
    gemm.a = {reinterpret_cast<const float*>(x.data) + x_offset + row * x.row_stride, x.row_stride,
              x.col_stride};
    gemm.c = out + row * of.n;
    kernels::run_gemm(kernels::gemm_table(chosen_isa()), gemm, 1, workspace);
  }
  return {};
}

using Product = Status (*)(const Sizes& of, const std::byte* x, const std::byte* y, std::byte* out,
                           Budget& budget);

template <class T>
Status product(const Sizes& of, const std::byte* x, const std::byte* y, std::byte* out, Budget& budget) {
  const int64_t step = std::clamp<int64_t>(kProductsPerQuestion / std::max<int64_t>(of.k * of.n, 1), 1, of.m);
  for (int64_t row = 0; row < of.m; row += step) {
    if (budget.must_stop()) return stopped();
    kernels::gemm_reference<T>(std::min(step, of.m - row), of.n, of.k,
                               reinterpret_cast<const T*>(x) + row * of.k, reinterpret_cast<const T*>(y),
                               reinterpret_cast<T*>(out) + row * of.n, {}, 1);
  }
  return {};
}

// The low bits of a product are the same with and without a sign.
Product product_of(DType dtype) {
  if (dtype == DType::float64) return product<double>;
  if (dtype == DType::boolean) return product<bool>;
  switch (dtype_size(dtype)) {
    case 1: return product<uint8_t>;
    case 2: return product<uint16_t>;
    case 4: return product<uint32_t>;
    default: return product<uint64_t>;
  }
}

// Calls fn(x's offset, y's offset, which result) for each pair of matrices.
template <class Fn>
Status for_each_pair(const Shape& batch, const Matrices& x, const Matrices& y, Fn&& fn) {
  const Layout layouts[] = {x.layout, y.layout};
  const kernels::Broadcast b = kernels::make_broadcast(batch, std::span<const Layout>(layouts));
  const int last = b.rank - 1;
  Status status;
  kernels::for_each_run(b, 0, b.elements, [&](int64_t at, const auto& offset, int64_t n) {
    for (int64_t i = 0; i < n && status.ok(); ++i)
      status = fn(offset[0] + i * b.stride[0][last], offset[1] + i * b.stride[1][last], at + i);
  });
  return status;
}

// Dense where the plain loop runs; float32 is read by its strides.
Status ready_dense(const Strided& from, DType dtype, Budget& budget, Ready& out, Strided& dense) {
  if (from.dtype == dtype && (dtype == DType::float32 || from.layout.is_dense())) {
    dense = from;
    return {};
  }
  WALLE_ASSIGN(out.scratch, Scratch::allocate(dtype, from.shape(), budget));
  dense = out.scratch.strided();
  return cast_into(from, dtype, dense.data, budget);
}

Status multiply(const Sizes& of, const Shape& batch, DType dtype, const Matrices& x, const Matrices& y,
                std::byte* out, Budget& budget) {
  if (dtype == DType::float32) {
    const int64_t bytes = kernels::gemm_workspace_bytes(
        kernels::gemm_table(chosen_isa()), std::min(of.m, of.rows_per_question()), of.n, of.k, false, false);
    WALLE_ASSIGN(Scratch workspace,
                 Scratch::allocate(DType::uint8, Shape{std::max<int64_t>(bytes, 1)}, budget));
    std::byte* place = workspace.strided().data;
    return for_each_pair(batch, x, y, [&](int64_t from_x, int64_t from_y, int64_t at) {
      return product_f32(of, x, from_x, y, from_y, reinterpret_cast<float*>(out) + at * of.m * of.n, place,
                         budget);
    });
  }
  const Product run = product_of(dtype);
  const int64_t size = dtype_size(dtype);
  return for_each_pair(batch, x, y, [&](int64_t from_x, int64_t from_y, int64_t at) {
    return run(of, x.data + from_x * size, y.data + from_y * size, out + at * of.m * of.n * size, budget);
  });
}

Status check(const Strided& x, const Strided& y, const Sizes& of, int64_t other_k) {
  if (x.layout.rank() == 0 || y.layout.rank() == 0)
    return argument_error("'@' of a number", "tensors of one axis or more", "", "use *");
  if (of.k == other_k) return {};
  return argument_error({"'@' of the shapes ", x.shape().text(), " and ", y.shape().text()},
                        "as many columns on the left as rows on the right", "",
                        "transpose one, or reshape it");
}

Shape shape_of_result(const Shape& batch, const Strided& x, const Strided& y, const Sizes& of) {
  Shape shape = batch;
  if (x.layout.rank() > 1) shape.push_back(of.m);
  if (y.layout.rank() > 1) shape.push_back(of.n);
  return shape;
}

Status fill(const Sizes& of, const Shape& batch, DType dtype, const Strided& x, const Strided& y, Tensor& out,
            Budget& budget) {
  if (out.elements() == 0) return {};
  if (of.k == 0) {
    std::memset(out.mutable_data(), 0, static_cast<size_t>(out.bytes()));
    return {};
  }
  const bool half = tensor::is_half_float(dtype);
  const DType compute = half ? DType::float32 : dtype;
  Ready left;
  Ready right;
  Strided dense_x;
  Strided dense_y;
  WALLE_TRY(ready_dense(x, compute, budget, left, dense_x));
  WALLE_TRY(ready_dense(y, compute, budget, right, dense_y));
  const Matrices a = as_matrices(dense_x.first(), dense_x.layout, Side::left);
  const Matrices b = as_matrices(dense_y.first(), dense_y.layout, Side::right);
  if (!half) return multiply(of, batch, compute, a, b, static_cast<std::byte*>(out.mutable_data()), budget);
  WALLE_ASSIGN(Scratch wide, Scratch::allocate(compute, out.shape(), budget));
  WALLE_TRY(multiply(of, batch, compute, a, b, wide.strided().data, budget));
  kernels::run_cast(compute, wide.strided().data, dtype, out.mutable_data(), out.elements(), true);
  return {};
}

}  // namespace

Result<Tensor> matmul(const Strided& x, const Strided& y, Budget& budget) {
  const Matrices left = x.layout.rank() > 0 ? as_matrices(nullptr, x.layout, Side::left) : Matrices{};
  const Matrices right = y.layout.rank() > 0 ? as_matrices(nullptr, y.layout, Side::right) : Matrices{};
  const Sizes of{.m = left.rows, .k = left.cols, .n = right.cols};
  WALLE_TRY(check(x, y, of, right.rows));
  WALLE_ASSIGN(const Shape batch, tensor::broadcast(left.batch, right.batch));
  const DType dtype = promote(x.dtype, y.dtype);
  WALLE_ASSIGN(Tensor out, allocate(dtype, shape_of_result(batch, x, y, of), budget));
  Status done = fill(of, batch, dtype, x, y, out, budget);
  if (done.ok()) return out;
  budget.give_back(out.bytes());
  return done.take_error();
}

}  // namespace walle::array
