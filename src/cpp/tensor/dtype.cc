#include "tensor/dtype.h"

#include <array>

namespace walle::tensor {

namespace {
struct Row {
  std::string_view name;
  int64_t size;
};
constexpr std::array<Row, kDTypeCount> kRows{{
    {"undefined", 0},      {"float32", 4},    {"float64", 8},        {"float16", 2},    {"bfloat16", 2},
    {"int8", 1},           {"int16", 2},      {"int32", 4},          {"int64", 8},      {"uint8", 1},
    {"uint16", 2},         {"uint32", 4},     {"uint64", 8},         {"bool", 1},       {"float8e4m3fn", 1},
    {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1}, {"float8e8m0", 1}, {"int4", 1},
    {"uint4", 1},          {"int2", 1},       {"uint2", 1},          {"float4e2m1", 1},
}};
const Row& row(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return kRows[i < kRows.size() ? i : 0];
}
}  // namespace

int64_t dtype_size(DType dtype) { return row(dtype).size; }
std::string_view dtype_name(DType dtype) { return row(dtype).name; }

Result<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return argument_error(
      "dtype '" + std::string(name) + "'",
      "one of float32, float64, float16, bfloat16, int8..int64, uint8..uint64, bool, float8*, int4, uint4, "
      "int2, uint2, float4e2m1",
      "dtype", "cast the array to a supported dtype");
}

bool is_float8(DType dtype) { return dtype >= DType::float8e4m3fn && dtype <= DType::float8e5m2fnuz; }
bool is_storage_only(DType dtype) { return dtype >= DType::float8e4m3fn && dtype <= DType::float4e2m1; }

int dtype_bits(DType dtype) {
  switch (dtype) {
    case DType::int4:
    case DType::uint4:
    case DType::float4e2m1: return 4;
    case DType::int2:
    case DType::uint2: return 2;
    default: return static_cast<int>(8 * dtype_size(dtype));
  }
}

bool is_float(DType dtype) {
  return (dtype >= DType::float32 && dtype <= DType::bfloat16) || is_float8(dtype);
}
bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint64; }
bool is_signed_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::int64; }

}  // namespace walle::tensor
