#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/widen.h"

namespace walle::tensor {

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape) {
  // Every tensor passes here, so that no caller can ask for memory by an unchecked shape; the product below
  // cannot overflow then.
  WALLE_TRY(Shape::checked(shape.dims(), dtype_size(dtype), "tensor allocation"));
  WALLE_ASSIGN(Buffer buffer, Buffer::allocate(shape.elements() * dtype_size(dtype)));
  return Tensor(dtype, shape, std::move(buffer));
}

Result<Tensor> Tensor::for_one_reading() const {
  if (buffer_.lies_aligned()) return *this;
  WALLE_ASSIGN(Tensor out, allocate(dtype_, shape_));
  if (const Tensor narrow = as_stored(); narrow.dtype() != dtype_) {
    widen(narrow.dtype(), narrow.address(), out.as_mutable<float>().data(), elements());
    narrow.buffer().drop(narrow.byte_offset(), static_cast<size_t>(narrow.bytes()));
    return out;
  }
  std::memcpy(out.mutable_data(), address(), static_cast<size_t>(bytes()));
  buffer_.drop(offset_, static_cast<size_t>(bytes()));
  return out;
}

Tensor Tensor::widened_late(const Tensor& halves) {
  return Tensor(DType::float32, halves.shape(),
                Buffer::widened_late(halves.buffer(), halves.byte_offset(),
                                     static_cast<size_t>(halves.elements()), halves.dtype()));
}

DType Tensor::stored() const {
  const DType from = buffer_.widened_from();
  return from == DType::undefined ? dtype_ : from;
}

Tensor Tensor::as_stored() const {
  if (stored() == dtype_) return *this;
  return Tensor(stored(), shape_, buffer_.narrow(), buffer_.narrow_offset());
}

Result<Tensor> Tensor::zeros(DType dtype, const Shape& shape) {
  WALLE_ASSIGN(Tensor out, allocate(dtype, shape));
  if (out.bytes() > 0) std::memset(out.mutable_data(), 0, out.bytes());
  return out;
}

Result<Tensor> Tensor::vector_i64(std::span<const int64_t> values) {
  return from<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

Result<std::vector<int64_t>> Tensor::to_i64() const {
  std::vector<int64_t> out(elements());
  const auto read = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(data());
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(p[i]);
  };
  if (dtype_ == DType::boolean) read(TypeTag<bool>{});
  // uint64 above 2^63 wraps to a negative number, which every user of a size or an index refuses.
  else if (!visit_integer(dtype_, read))
    return model_error({"a ", dtype_name(dtype_), " tensor"}, "an integer tensor", "integer argument",
                       "cast it to int64");
  return out;
}

Result<std::vector<double>> Tensor::to_f64() const {
  std::vector<double> out(elements());
  const bool known = visit_all(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(data());
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        out[i] = static_cast<float>(p[i]);
      else
        out[i] = static_cast<double>(p[i]);
    }
  });
  if (!known)
    return model_error({"a ", dtype_name(dtype_), " tensor"}, "a numeric tensor", "numeric argument",
                       "cast it to float32");
  return out;
}

bool Tensor::has_plain_booleans() const {
  if (dtype_ != DType::boolean) return true;
  const auto bytes = as<uint8_t>();
  // In vectors that are written out, because this room's loops are none: a megabyte takes 12 us so, 25 by
  // words and 600 byte by byte. No early end: what is usual is read to its end.
  typedef uint64_t pair __attribute__((vector_size(16)));
  typedef uint64_t pair_any __attribute__((vector_size(16), aligned(1), may_alias));
  const auto at = [&bytes](size_t i) { return *reinterpret_cast<const pair_any*>(bytes.data() + i); };
  pair both = {}, also = {};
  size_t i = 0;
  for (; i + 64 <= bytes.size(); i += 64) {
    both |= at(i) | at(i + 16);
    also |= at(i + 32) | at(i + 48);
  }
  both |= also;
  uint64_t seen = both[0] | both[1];
  for (; i < bytes.size(); ++i) seen |= bytes[i];
  return (seen & ~uint64_t{0x0101010101010101}) == 0;
}

Result<Tensor> Tensor::with_plain_booleans() const {
  // The usual case costs one pass and no copy.
  if (has_plain_booleans()) return *this;
  WALLE_ASSIGN(Tensor out, allocate(dtype_, shape_));
  std::ranges::transform(as<uint8_t>(), out.as_mutable<uint8_t>().begin(),
                         [](uint8_t b) { return static_cast<uint8_t>(b != 0); });
  return out;
}

bool Tensor::identical(const Tensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ &&
         // Bytes, not values: NaN equals itself and -0 differs from 0, which is what "the same result" means
         // in a test.
         (bytes() == 0 || std::memcmp(data(), other.data(), bytes()) == 0);
}

}  // namespace walle::tensor
