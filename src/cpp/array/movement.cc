#include "array/movement.h"

#include <cstring>

#include "base/copy.h"
#include "kernels/eltwise/cast.h"
#include "kernels/raster/box_copy.h"

namespace walle::array {

namespace {

constexpr size_t size_of(int64_t bytes) { return static_cast<size_t>(bytes); }

int64_t bytes_of(const Strided& a) { return a.shape().elements() * dtype_size(a.dtype); }

}  // namespace

void copy(const Strided& from, const Strided& to) {
  if (from.shape().elements() == 0) return;
  if (from.layout.is_dense() && to.layout.is_dense()) {
    base::copy_bytes(to.first(), from.first(), size_of(bytes_of(from)));
    return;
  }
  const kernels::BoxCopy box =
      kernels::plan_box(from.layout.rank(), from.shape().begin(), 0, from.layout.stride.data(), 0,
                        to.layout.stride.data(), dtype_size(from.dtype));
  kernels::copy_box(box, from.first(), to.first());
}

Status cast_into(const Strided& from, DType dtype, std::byte* out, Budget& budget) {
  const int64_t n = from.shape().elements();
  if (from.dtype == dtype) {
    copy(from, {dtype, out, Layout::dense(from.shape())});
    return {};
  }
  if (from.layout.is_dense()) {
    kernels::run_cast(from.dtype, from.first(), dtype, out, n, true);
    return {};
  }
  WALLE_ASSIGN(Scratch dense, Scratch::allocate(from.dtype, from.shape(), budget));
  copy(from, dense.strided());
  kernels::run_cast(from.dtype, dense.strided().data, dtype, out, n, true);
  return {};
}

Status check_fits(const Strided& from, DType dtype) {
  const bool integers = from.dtype == DType::int64;
  if (!tensor::is_integer(dtype) || (!integers && from.dtype != DType::float64)) return {};
  const std::byte* at = from.first();
  for (int64_t left = from.shape().elements(); left > 0; --left, at += sizeof(int64_t)) {
    Number number;
    number.kind = integers ? Number::Kind::integer : Number::Kind::real;
    std::memcpy(&number.integer, at, sizeof number.integer);
    std::memcpy(&number.real, at, sizeof number.real);
    WALLE_TRY(element_of(number, dtype));
  }
  return {};
}

Result<Tensor> astype(const Strided& from, DType dtype, Budget& budget) {
  WALLE_ASSIGN(Tensor out, allocate(dtype, from.shape(), budget));
  Status done = cast_into(from, dtype, static_cast<std::byte*>(out.mutable_data()), budget);
  if (done.ok()) return out;
  budget.give_back(out.bytes());
  return done.take_error();
}

Status assign(const Strided& to, const Strided& from, Budget& budget) {
  WALLE_ASSIGN(const Shape shape, tensor::broadcast(to.shape(), from.shape()));
  if (!(shape == to.shape()))
    return argument_error({"values of the shape ", from.shape().text()},
                          {"a shape that broadcasts to ", to.shape().text()}, "", "reshape the values");
  if (to.shape().elements() == 0) return {};
  // Two views of one memory may overlap, and a copy costs less than to find out.
  const bool shared = to.data == from.data;
  if (from.dtype == to.dtype && !shared) {
    copy({from.dtype, from.data, tensor::broadcast_to(from.layout, shape)}, to);
    return {};
  }
  WALLE_ASSIGN(Scratch values, Scratch::allocate(to.dtype, from.shape(), budget));
  Strided dense = values.strided();
  WALLE_TRY(cast_into(from, to.dtype, dense.data, budget));
  dense.layout = tensor::broadcast_to(dense.layout, shape);
  copy(dense, to);
  return {};
}

Status assign(const Strided& to, const Number& from) {
  WALLE_ASSIGN(Element element, element_of(from, to.dtype));
  if (to.shape().elements() == 0) return {};
  copy({to.dtype, element.bytes, tensor::broadcast_to({}, to.shape())}, to);
  return {};
}

}  // namespace walle::array
