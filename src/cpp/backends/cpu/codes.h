// 8-bit codes as operands: whether they are, and the constants that say what they stand for.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "backends/cpu/cpu_op.h"
#include "kernels/codes/codes.h"

namespace walle::backends::cpu {

inline bool is_code(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }
inline bool is_signed(DType dtype) { return dtype == DType::int8; }
inline int32_t least_code(DType dtype) { return is_signed(dtype) ? -128 : 0; }
inline int32_t code_at(const Tensor& t, int64_t i) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(t.address());
  return is_signed(t.dtype()) ? static_cast<int8_t>(bytes[i]) : bytes[i];
}

// A constant of one element: a scale that is a number above zero; a zero point.
inline std::optional<float> scale_of(const NodeView& node, int i) {
  if (!node.has(i) || !node.constant(i) || node.dtype(i) != DType::float32 || node.shape(i).elements() != 1)
    return std::nullopt;
  const float scale = node.constant(i)->as<float>()[0];
  return std::isfinite(scale) && scale > 0 ? std::optional(scale) : std::nullopt;
}
inline std::optional<int32_t> zero_of(const NodeView& node, int i) {
  if (!node.has(i) || !node.constant(i) || !is_code(node.dtype(i)) || node.shape(i).elements() != 1)
    return std::nullopt;
  return code_at(*node.constant(i), 0);
}

// Codes of `dtype` less `zero`, between attributes `low` and `high` where the node has them.
struct CodeRange {
  float low = 0, high = 0;
};
inline CodeRange range_of(const NodeView& node, DType dtype, int32_t zero, const char* low,
                          const char* high) {
  const int64_t least = least_code(dtype), most = least + 255;
  return {static_cast<float>(std::max(least, node.attrs().get_int(low, least)) - zero),
          static_cast<float>(std::min(most, node.attrs().get_int(high, most)) - zero)};
}

}  // namespace walle::backends::cpu
