// Element types. Values are part of the .walle format (schemas/model.fbs): never renumber, only append.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "tensor/half.h"

namespace walle::tensor {

enum class DType : uint8_t {
  undefined = 0,
  float32 = 1,
  float64 = 2,
  float16 = 3,
  bfloat16 = 4,
  int8 = 5,
  int16 = 6,
  int32 = 7,
  int64 = 8,
  uint8 = 9,
  uint16 = 10,
  uint32 = 11,
  uint64 = 12,
  boolean = 13,
  float8e4m3fn = 14,
  float8e4m3fnuz = 15,
  float8e5m2 = 16,
  float8e5m2fnuz = 17,
  // One element per byte in memory, the code in its low bits, as NumPy's ml_dtypes have them: every movement
  // of bytes then works on them, and what computes with them casts first. Model files of ONNX hold them
  // packed.
  float8e8m0 = 18,  // powers of two: the scales of microscaling formats
  int4 = 19,
  uint4 = 20,
  int2 = 21,
  uint2 = 22,
  float4e2m1 = 23,
};
inline constexpr int kDTypeCount = 24;

// Bytes per element; 0 for undefined.
int64_t dtype_size(DType dtype);
std::string_view dtype_name(DType dtype);
Result<DType> dtype_from_name(std::string_view name);

bool is_float(DType dtype);    // any floating point, the 16- and 8-bit ones included
bool is_integer(DType dtype);  // not boolean
bool is_signed_integer(DType dtype);
bool is_float8(DType dtype);  // the four that float8 formats of Half's header describe
// Only stored, moved and cast: float8, float8e8m0 and everything below 8 bits. They are in no other group but
// is_float (float8), and the visit functions do not know them.
bool is_storage_only(DType dtype);
// The bits of an element's code in its byte: 2, 4 or 8; of other types 8 times their size.
int dtype_bits(DType dtype);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::float16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::int8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::int16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::uint16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::uint32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::uint64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

template <class T>
struct TypeTag {
  using type = T;
};

// Calls fn(TypeTag<T>{}) with the C++ type of `dtype` and returns true; false when the dtype is not in the
// group.
template <class Fn>
bool visit_integer(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::int8: fn(TypeTag<int8_t>{}); return true;
    case DType::int16: fn(TypeTag<int16_t>{}); return true;
    case DType::int32: fn(TypeTag<int32_t>{}); return true;
    case DType::int64: fn(TypeTag<int64_t>{}); return true;
    case DType::uint8: fn(TypeTag<uint8_t>{}); return true;
    case DType::uint16: fn(TypeTag<uint16_t>{}); return true;
    case DType::uint32: fn(TypeTag<uint32_t>{}); return true;
    case DType::uint64: fn(TypeTag<uint64_t>{}); return true;
    default: return false;
  }
}

// float32 and float64: the types arithmetic is done in. 16-bit floats are computed in float32 by cast
// insertion.
template <class Fn>
bool visit_float(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::float32: fn(TypeTag<float>{}); return true;
    case DType::float64: fn(TypeTag<double>{}); return true;
    default: return false;
  }
}

template <class Fn>
bool visit_numeric(DType dtype, Fn&& fn) {
  return visit_float(dtype, fn) || visit_integer(dtype, fn);
}

// Also boolean and the 16-bit floats: everything that is not only stored.
template <class Fn>
bool visit_all(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::boolean: fn(TypeTag<bool>{}); return true;
    case DType::float16: fn(TypeTag<Half>{}); return true;
    case DType::bfloat16: fn(TypeTag<BFloat16>{}); return true;
    default: return visit_numeric(dtype, fn);
  }
}

}  // namespace walle::tensor

namespace walle {
using tensor::DType;
using tensor::dtype_name;
using tensor::dtype_size;
}  // namespace walle
