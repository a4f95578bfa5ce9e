#include "capi/tensors.h"

namespace walle::capi {

namespace {

template <class Given>
Result<Tensor> read_type(const Given& in, Text where) {
  if (walle_dtype_size(in.dtype) == 0)
    return argument_error({"dtype ", static_cast<int>(in.dtype)}, "a walle_dtype_t", where, "set dtype");
  if (in.rank < 0 || in.rank > WALLE_MAX_RANK)
    return argument_error({"rank ", in.rank}, {"0..", WALLE_MAX_RANK}, where, "set rank and shape");
  const auto dtype = static_cast<DType>(in.dtype);
  WALLE_ASSIGN(const Shape shape,
               Shape::checked({in.shape, static_cast<size_t>(in.rank)}, dtype_size(dtype), where.str()));
  return Tensor(dtype, shape, Buffer());
}

template <class Given>
Result<runtime::NamedValue> read(const Given& in, Text where, bool writable) {
  WALLE_ASSIGN(const Tensor type, read_type(in, where));
  const DType dtype = type.dtype();
  const Shape& shape = type.shape();
  const auto want = static_cast<size_t>(shape.elements() * dtype_size(dtype));
  if (in.bytes != want || (want && !in.data))
    return argument_error({in.bytes, " bytes for ", dtype_name(dtype), shape.text()},
                          {want, " bytes and data that is not NULL"}, where, "set data and bytes");
  // Borrowed for the call; kernels read elements at their own alignment.
  const auto alignment = static_cast<uintptr_t>(tensor::dtype_alignment(dtype));
  if (want && reinterpret_cast<uintptr_t>(in.data) % alignment != 0)
    return argument_error("data that is not aligned to its element size", "aligned memory", where,
                          "copy it into an array of its type");
  Buffer buffer = Buffer::wrap(const_cast<void*>(in.data), want, {}, writable);
  return runtime::NamedValue{in.name ? in.name : "", Tensor(dtype, shape, std::move(buffer))};
}

}  // namespace

Result<runtime::NamedValue> read_tensor(const walle_tensor_t& in, Text function, Text role) {
  return read(in, {function, ", ", role, " '", in.name ? in.name : "", "'"}, false);
}

Result<runtime::NamedValue> read_shape(const walle_tensor_t& in, Text function, Text role) {
  if (in.data || in.bytes) return read_tensor(in, function, role);
  WALLE_ASSIGN(Tensor type, read_type(in, {function, ", ", role, " '", in.name ? in.name : "", "'"}));
  return runtime::NamedValue{in.name ? in.name : "", std::move(type)};
}

Result<runtime::NamedValue> read_tensor(const walle_result_memory_t& in, Text function, Text role) {
  return read(in, {function, ", ", role, " '", in.name ? in.name : "", "'"}, true);
}

void show_tensor(const std::string& name, const Tensor& tensor, walle_tensor_t& out) {
  out = {};
  out.name = name.c_str();
  out.dtype = static_cast<walle_dtype_t>(tensor.dtype());
  out.rank = tensor.shape().rank();
  for (int i = 0; i < out.rank; ++i) out.shape[i] = tensor.shape()[i];
  out.data = tensor.data();
  out.bytes = static_cast<size_t>(tensor.bytes());
}

}  // namespace walle::capi
