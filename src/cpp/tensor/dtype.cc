#include "tensor/dtype.h"

#include <algorithm>

namespace walle::tensor {

const DTypeFacts& dtype_facts(DType dtype) {
  const auto i = static_cast<int>(dtype);
  // A dtype may be a number from a file; reading past the table must not be what tells it.
  return kDTypes[i < std::ssize(kDTypes) ? i : 0];
}

std::string numpy_code(const DTypeFacts& facts) { return facts.numpy_kind + std::to_string(facts.size); }

int64_t dtype_size(DType dtype) { return dtype_facts(dtype).size; }
int64_t dtype_alignment(DType dtype) { return std::clamp<int64_t>(dtype_size(dtype), 1, 8); }
std::string_view dtype_name(DType dtype) { return dtype_facts(dtype).name; }

Result<DType> dtype_from_name(std::string_view name) {
  // From 1: "undefined" is no dtype that a caller can mean.
  for (int i = 1; i < kDTypeCount; ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return argument_error(
      {"dtype '", name, "'"},
      "one of float32, float64, float16, bfloat16, int8..int64, uint8..uint64, bool, float8*, int4, uint4, "
      "int2, uint2, float4e2m1, complex64, complex128",
      "dtype", "cast the array to a supported dtype");
}

namespace {
DTypeClass group(DType dtype) { return dtype_facts(dtype).group; }
}  // namespace

bool is_native_float(DType dtype) { return group(dtype) == DTypeClass::floating; }
bool is_half_float(DType dtype) { return group(dtype) == DTypeClass::half; }
bool is_float8(DType dtype) { return group(dtype) == DTypeClass::float8; }
bool is_complex(DType dtype) { return group(dtype) == DTypeClass::complex; }
bool is_storage_only(DType dtype) {
  return is_float8(dtype) || is_tiny_integer(dtype) || group(dtype) == DTypeClass::stored;
}
bool is_tiny_integer(DType dtype) {
  return group(dtype) == DTypeClass::tiny_signed || group(dtype) == DTypeClass::tiny_unsigned;
}
bool has_signed_code(DType dtype) {
  return is_signed_integer(dtype) || group(dtype) == DTypeClass::tiny_signed;
}
int dtype_bits(DType dtype) { return dtype_facts(dtype).bits; }

bool is_float(DType dtype) { return is_native_float(dtype) || is_half_float(dtype) || is_float8(dtype); }
bool is_signed_integer(DType dtype) { return group(dtype) == DTypeClass::signed_integer; }
bool is_integer(DType dtype) {
  return is_signed_integer(dtype) || group(dtype) == DTypeClass::unsigned_integer;
}

}  // namespace walle::tensor
