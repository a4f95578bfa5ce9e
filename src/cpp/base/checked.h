// Arithmetic on sizes that come from files or users: an overflow is an answer, not undefined behaviour.
#pragma once

#include <cstdint>
#include <optional>

namespace walle::base {

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// For value >= 0 and value + multiple below 2^63, which the limits of base/limits.h see to.
inline std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// For a >= 0 and b > 0, of any size.
inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace walle::base
