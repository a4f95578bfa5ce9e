#include "ops/rules/slices.h"

#include <algorithm>

#include "base/copy.h"

namespace walle::ops {

Result<Tensor> take(const Tensor& x, int axis, int64_t index) {
  const Shape& s = x.shape();
  Shape out = s.sub(0, axis);
  for (int i = axis + 1; i < s.rank(); ++i) out.push_back(s[i]);
  const int64_t outer = s.product(0, axis);
  const int64_t chunk = s.product(axis + 1, s.rank()) * dtype_size(x.dtype());
  // Along the first axis (the usual case of a Scan) a slice is a window of the same bytes: nothing is copied.
  if (outer == 1) return Tensor(x.dtype(), out, x.buffer(), x.byte_offset() + index * chunk);
  WALLE_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), out));
  const auto* from = static_cast<const std::byte*>(x.data()) + index * chunk;
  auto* to = static_cast<std::byte*>(y.mutable_data());
  for (int64_t o = 0; o < outer; ++o) base::copy_bytes(to + o * chunk, from + o * chunk * s[axis], chunk);
  return y;
}

Result<Tensor> stack(const std::vector<Tensor>& items, int axis) {
  const Shape& s = items[0].shape();
  for (const Tensor& t : items)
    if (t.shape() != s || t.dtype() != items[0].dtype())
      return model_error({"slices of ", s.text(), " and ", t.shape().text()}, "slices of one shape and dtype",
                         "stacked output", "make the body give the same shape in every round");
  const auto count = static_cast<int64_t>(items.size());
  std::vector<int64_t> dims(s.begin(), s.begin() + axis);
  dims.push_back(count);
  dims.insert(dims.end(), s.begin() + axis, s.end());
  WALLE_ASSIGN(const Shape out, Shape::checked(dims, dtype_size(items[0].dtype()), "stacked output"));
  WALLE_ASSIGN(Tensor y, Tensor::allocate(items[0].dtype(), out));
  const int64_t outer = s.product(0, axis);
  const int64_t chunk = s.product(axis, s.rank()) * dtype_size(items[0].dtype());
  auto* to = static_cast<std::byte*>(y.mutable_data());
  // chunk > 0: tensors without elements may have no address.
  for (int64_t o = 0; chunk > 0 && o < outer; ++o)
    for (int64_t i = 0; i < count; ++i)
      base::copy_bytes(to + (o * count + i) * chunk,
                       static_cast<const std::byte*>(items[i].data()) + o * chunk, chunk);
  return y;
}

Result<Tensor> no_slices(const ir::Attributes& attrs, size_t body_output) {
  const auto body = attrs.get_graph("body");
  DType dtype = DType::float32;
  std::vector<int64_t> dims{0};
  if (body && body_output < body->outputs.size() && body->outputs[body_output] >= 0) {
    const ir::Value& v = body->at(body->outputs[body_output]);
    // A loop of no rounds still has outputs of a shape: what the body's graph declares, with 0 where it says
    // nothing. ONNX leaves it open; a wrong rank would fail the next node.
    if (v.dtype != DType::undefined) dtype = v.dtype;
    if (v.shape)
      for (const ir::Dim& d : *v.shape) dims.push_back(std::max<int64_t>(d.size, 0));
  }
  WALLE_ASSIGN(const Shape shape, Shape::checked(dims, dtype_size(dtype), "output of no rounds"));
  return Tensor::allocate(dtype, shape);
}

Result<int64_t> one_integer(const Tensor* t, const char* where) {
  if (!t || t->elements() != 1)
    return model_error(t ? Text{"a tensor of shape ", t->shape().text()} : Text("no tensor"),
                       "an integer tensor with one element", where, "give one integer");
  // Any integer dtype: exporters write M as int32 as well, though ONNX says int64.
  WALLE_ASSIGN(const std::vector<int64_t> values, t->to_i64());
  return values[0];
}

}  // namespace walle::ops
