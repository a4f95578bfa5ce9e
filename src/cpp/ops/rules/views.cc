#include "ops/rules/views.h"

#include <array>
#include <vector>

#include "tensor/representable.h"

namespace walle::ops {

// A raster with one region: steps of 0 repeat, steps between two axes give diagonals, overlapping steps give
// sliding windows. Nothing is copied that the merge pass can avoid.
Ref strided_view(LowerContext& c, Ref r, const Shape& out, std::span<const Dim> stride, Dim offset) {
  if (!c.may_have(c.dtype(r), out)) return kNoRef;
  raster::Raster moved;
  moved.regions.push_back(raster::strided_box(0, out, offset, Shape(stride), 0, out.strides()));
  return c.raster(std::move(moved), c.dtype(r), out, {r});
}

Ref strided_view(LowerContext& c, Ref r, const Shape& out, std::span<const int64_t> stride, int64_t offset) {
  const std::vector<Dim> dims(stride.begin(), stride.end());
  return strided_view(c, r, out, dims, Dim(offset));
}

// Rasters of stride 0: an Expand that the merge pass can join with what reads it.
Ref expand_to(LowerContext& c, Ref r, const Shape& out) {
  if (c.failed() || c.shape(r) == out) return r;
  const Shape in = c.shape(r);
  const Shape own = in.strides();
  std::vector<Dim> stride;
  for (int i = 0; i < out.rank(); ++i) {
    const int k = i - (out.rank() - in.rank());
    stride.push_back(k < 0 || in.dim(k) == 1 ? Dim(0) : own.dim(k));
  }
  return strided_view(c, r, out, stride, Dim(0));
}

Ref sum_to(LowerContext& c, Ref r, const Shape& to) {
  if (c.failed() || c.shape(r) == to) return r;
  const Shape from = c.shape(r);
  const int lead = from.rank() - to.rank();
  std::vector<int64_t> axes;
  for (int i = 0; i < from.rank(); ++i)
    if (i < lead || (to.dim(i - lead) == 1 && from.dim(i) != 1)) axes.push_back(i);
  return c.reshape(axes.empty() ? r : c.reduce("ReduceSum", r, axes, true), to);
}

// Channels are axis 1 of data but the only axis of a bias, which broadcasting would align at the right.
Ref along_axis(LowerContext& c, Ref r, int axis, int rank) {
  if (c.failed()) return kNoRef;
  const Dim n = c.shape(r).dim_elements();
  Shape shape = Shape::of({n});
  for (int i = axis + 1; i < rank; ++i) shape.push_back(1);
  // One element becomes a scalar, which broadcasts whatever the rank; a vector would only fit its axis.
  return c.reshape(r, n == 1 ? Shape{} : shape);
}

Ref zeros(LowerContext& c, DType dtype, const Shape& shape) {
  raster::Raster r;
  // All bits 0, which is 0 in every dtype.
  r.fill.emplace();
  return c.raster(std::move(r), dtype, shape, {});
}

Ref iota(LowerContext& c, DType dtype, Dim size) {
  if (size.symbolic()) return counted(c, dtype, 0, 1, size);
  const int64_t n = size;
  // n comes from a shape: asked before a vector of that size is made.
  if (!c.may_tabulate(n, kNumberWork)) return kNoRef;
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return constant_of(c, dtype, Shape{n}, values);
}

Ref counted(LowerContext& c, DType dtype, Dim start, Dim step, Dim count) {
  // Room to grow into, so that a decoder meets a new class with each doubling and not with each token.
  constexpr uint64_t kLeast = 64;
  const Dim end = start + step * (count - 1) + 1;  // behind the last, however far a step leads
  const auto twice = static_cast<uint64_t>(2 * end.value());
  const auto room = static_cast<int64_t>(std::bit_ceil(std::max(twice, kLeast)));
  if (end > room || !c.may_tabulate(room, kNumberWork)) return kNoRef;
  auto table = Tensor::allocate(dtype, Shape{room});
  if (!table.ok()) {
    c.fail(table.take_error());
    return kNoRef;
  }
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> numbers = table->template as_mutable<T>();
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i);
  });
  raster::Raster r;
  r.regions.push_back(raster::strided_box(0, Shape::of({count}), start, Shape::of({step}), 0, Shape{1}));
  return c.raster(std::move(r), dtype, Shape::of({count}), {c.constant(std::move(*table))});
}

Ref constant_of(LowerContext& c, DType dtype, const Shape& shape, std::span<const double> values) {
  if (c.failed()) return kNoRef;
  auto t = Tensor::allocate(dtype, shape);
  if (!t.ok()) {
    c.fail(t.take_error());
    return kNoRef;
  }
  bool holds = true;
  const bool known = tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto out = t->as_mutable<T>();
    for (size_t i = 0; i < out.size() && holds; ++i) {
      // Values come from attributes and may lie outside the dtype; casting them would be undefined.
      holds = tensor::representable<T>(values[i]);
      if (holds) out[i] = static_cast<T>(values[i]);
    }
  });
  if (!holds)
    c.fail(model_error({"a number that ", dtype_name(dtype), " cannot hold"}, "smaller numbers",
                       "a table of the operator", "correct the node's attributes"));
  if (!known) c.fail(internal_error({"a constant of ", dtype_name(dtype)}, "constant_of"));
  return c.constant(std::move(*t));
}

}  // namespace walle::ops
