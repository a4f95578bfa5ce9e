// Tensor: dtype + shape + a reference-counted buffer,
// always dense row-major. A value type; copies share bytes.
//
// Handles go between threads freely; the bytes are not synchronised, and only the holder of the only handle
// may write them.
//
// Strided views exist only as regions (raster/region.h): whoever needs another order makes a raster.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace walle::tensor {

class Tensor {
 public:
  Tensor() = default;
  // Precondition: buffer.size() >= dtype_size * elements (+ byte_offset).
  Tensor(DType dtype, Shape shape, Buffer buffer, size_t byte_offset = 0)
      : dtype_(dtype), shape_(shape.pinned()), buffer_(std::move(buffer)), offset_(byte_offset) {}

  static Result<Tensor> allocate(DType dtype, const Shape& shape);  // uninitialised
  static Result<Tensor> zeros(DType dtype, const Shape& shape);
  template <class T>
  static Result<Tensor> from(const Shape& shape, std::span<const T> values);
  template <class T>
  static Result<Tensor> scalar(T value) {
    return from<T>(Shape{}, std::span<const T>(&value, 1));
  }
  static Result<Tensor> vector_i64(std::span<const int64_t> values);
  // The float32 values of a float16 or bfloat16 tensor, whose wide bytes exist once somebody reads data().
  static Tensor widened_late(const Tensor& halves);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return elements() * dtype_size(dtype_); }
  const Buffer& buffer() const { return buffer_; }
  size_t byte_offset() const { return offset_; }
  bool defined() const { return dtype_ != DType::undefined; }

  const void* data() const { return buffer_.data() + offset_; }
  // Tells bytes apart, and does not make the copy that data() may (Buffer::aligned_late).
  const std::byte* address() const { return buffer_.address() + offset_; }
  // Itself, or a copy that goes with its handle where data() would make one that stays: for those who read
  // all of it once, to make another form. A resource error when memory is short.
  Result<Tensor> for_one_reading() const;
  // The dtype that its elements lie in: another than dtype() of what widened_late() made.
  DType stored() const;
  int64_t stored_bytes() const { return elements() * dtype_size(stored()); }
  // What widened_late() was given, else the tensor itself. Elements lie wherever a file has them: address()
  // is to be read as bytes.
  Tensor as_stored() const;
  void* mutable_data() { return buffer_.data() + offset_; }
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data()), static_cast<size_t>(elements())};
  }
  template <class T>
  std::span<T> as_mutable() {
    return {static_cast<T*>(mutable_data()), static_cast<size_t>(elements())};
  }

  // The same bytes under another shape. Precondition: equal element counts.
  Tensor reshaped(const Shape& shape) const { return Tensor(dtype_, shape, buffer_, offset_); }

  // Integer (or boolean) tensors as int64; a model error for other dtypes.
  Result<std::vector<int64_t>> to_i64() const;
  // Any numeric tensor as double; a model error for float8.
  Result<std::vector<double>> to_f64() const;

  // C++ and every kernel know two booleans; memory from outside (files, views of other arrays) may hold 256.
  // False when a byte of a boolean tensor is neither 0 nor 1.
  bool has_plain_booleans() const;
  // The tensor itself if it has plain booleans, else a copy in which every byte but 0 is true, as in NumPy.
  Result<Tensor> with_plain_booleans() const;

  // Equal dtype, shape and bytes.
  bool identical(const Tensor& other) const;

 private:
  DType dtype_ = DType::undefined;
  Shape shape_;
  Buffer buffer_;
  size_t offset_ = 0;
};

template <class T>
Result<Tensor> Tensor::from(const Shape& shape, std::span<const T> values) {
  WALLE_ASSIGN(Tensor out, allocate(kDTypeOf<T>, shape));
  if (!values.empty()) std::memcpy(out.mutable_data(), values.data(), values.size_bytes());
  return out;
}

}  // namespace walle::tensor

namespace walle {
using tensor::Tensor;
}
