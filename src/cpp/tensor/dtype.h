// Element types; the list, with all that is known of each, is tensor/kinds/dtype.inc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "tensor/half.h"

namespace walle::tensor {

enum class DType : uint8_t {
#define WALLE_DTYPE(number, id, ...) id = number,
#include "tensor/kinds/dtype.inc"
};

// What arithmetic on an element type means; see kinds/dtype.inc.
enum class DTypeClass : uint8_t {
  none,
  floating,
  half,
  float8,
  stored,
  tiny_signed,
  tiny_unsigned,
  signed_integer,
  unsigned_integer,
  boolean,
  complex,
};

struct DTypeFacts {
  std::string_view name;
  int bits;      // of an element's code
  int64_t size;  // bytes per element in memory
  DTypeClass group;
  char numpy_kind;              // with the size: what an array that carries it looks like
  std::string_view numpy_name;  // of the dtype itself, in NumPy or in ml_dtypes
};
inline constexpr DTypeFacts kDTypes[] = {
#define WALLE_DTYPE(number, id, name, type, bits, group, numpy_kind, format, numpy_name) \
  {name, bits, (bits + 7) / 8, DTypeClass::group, numpy_kind, numpy_name},
#include "tensor/kinds/dtype.inc"
};
inline constexpr int64_t kMaxDTypeSize = 16;  // for checks of shapes, whatever their dtype
static_assert(std::ranges::max(kDTypes, {}, &DTypeFacts::size).size == kMaxDTypeSize);
inline constexpr int kDTypeCount = static_cast<int>(std::size(kDTypes));

// "f4": what NumPy calls an array that carries this type.
std::string numpy_code(const DTypeFacts& facts);

// Those of undefined for a number that is none.
const DTypeFacts& dtype_facts(DType dtype);
int64_t dtype_size(DType dtype);  // 0 for undefined
// What addresses of elements are multiples of: kernels read an element, or half of 16 bytes, as one integer.
int64_t dtype_alignment(DType dtype);
std::string_view dtype_name(DType dtype);
Result<DType> dtype_from_name(std::string_view name);

bool is_float(DType dtype);         // any floating point, the 16- and 8-bit ones included
bool is_native_float(DType dtype);  // float32 and float64: the types arithmetic is done in
bool is_half_float(DType dtype);    // the 16-bit ones: stored; computed in float32 by cast insertion
bool is_float8(DType dtype);        // stored only
bool is_storage_only(DType dtype);  // float8, float8e8m0 and all below 8 bits: stored, moved and cast
bool is_tiny_integer(DType dtype);  // below 8 bits: stored only, no integer to compute with
bool is_complex(DType dtype);       // moved only
bool is_integer(DType dtype);       // neither boolean nor tiny
bool is_signed_integer(DType dtype);
bool has_signed_code(DType dtype);  // signed integers and tiny ones
int dtype_bits(DType dtype);        // of an element's code: 2 or 4 in its byte, else 8 times the size

namespace detail {
template <class T>
consteval DType dtype_of() {
#define WALLE_DTYPE(number, id, name, type, ...) \
  if (!std::is_void_v<type> && std::is_same_v<T, type>) return DType::id;
#include "tensor/kinds/dtype.inc"
  return DType::undefined;
}
}  // namespace detail
template <class T>
inline constexpr DType kDTypeOf = detail::dtype_of<T>();

template <class T>
struct TypeTag {
  using type = T;
};

// Calls fn(TypeTag<T>{}) with the C++ type of `dtype` and
// returns true; false when it is in none of the classes.
template <DTypeClass... kClasses, class Fn>
bool visit(DType dtype, Fn&& fn) {
  switch (dtype) {
#define WALLE_DTYPE(number, id, name, type, bits, group, ...) \
  case DType::id:                                             \
    if constexpr (((DTypeClass::group == kClasses) || ...)) { \
      fn(TypeTag<type>{});                                    \
      return true;                                            \
    } else {                                                  \
      return false;                                           \
    }
#include "tensor/kinds/dtype.inc"
  }
  return false;
}

template <class Fn>
bool visit_integer(DType dtype, Fn&& fn) {
  return visit<DTypeClass::signed_integer, DTypeClass::unsigned_integer>(dtype, fn);
}

template <class Fn>
bool visit_float(DType dtype, Fn&& fn) {
  return visit<DTypeClass::floating>(dtype, fn);
}

template <class Fn>
bool visit_numeric(DType dtype, Fn&& fn) {
  return visit<DTypeClass::floating, DTypeClass::signed_integer, DTypeClass::unsigned_integer>(dtype, fn);
}

// Also boolean and the 16-bit floats: everything that is not only stored or moved.
template <class Fn>
bool visit_all(DType dtype, Fn&& fn) {
  return visit<DTypeClass::floating, DTypeClass::half, DTypeClass::signed_integer,
               DTypeClass::unsigned_integer, DTypeClass::boolean>(dtype, fn);
}

}  // namespace walle::tensor

namespace walle {
using tensor::DType;
using tensor::dtype_name;
using tensor::dtype_size;
}  // namespace walle
