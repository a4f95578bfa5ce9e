// Integer arithmetic that is defined for every pair of operands: results wrap, division by zero gives 0, and
// the most negative number divided by -1 is itself. A model's data must not be able to trap the process.
#pragma once

#include <cstdint>
#include <type_traits>

namespace walle::kernels {

template <class T>
T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class T>
T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T>
bool minus_one(T b) {
  if constexpr (std::is_signed_v<T>) return b == T(-1);
  return false;
}

// Truncates towards zero.
template <class T>
T safe_div(T a, T b) {
  if (b == 0) return 0;
  return minus_one(b) ? wrap_sub(T(0), a) : static_cast<T>(a / b);
}

// The sign of the dividend, as C's %.
template <class T>
T safe_mod(T a, T b) {
  return b == 0 || minus_one(b) ? T(0) : static_cast<T>(a % b);
}

// The sign of the divisor, as Python's %.
template <class T>
T safe_floor_mod(T a, T b) {
  const T r = safe_mod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
}

// Rounds down, as Python's //.
template <class T>
T safe_floor_div(T a, T b) {
  const T quotient = safe_div(a, b);
  const bool rounded_up = safe_mod(a, b) != 0 && (a < 0) != (b < 0);
  return rounded_up ? static_cast<T>(quotient - 1) : quotient;
}

// Wraps; a negative exponent gives the truncated reciprocal.
template <class T>
T int_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == T(1)) return T(1);
    if (minus_one(base)) return exponent % 2 == 0 ? T(1) : base;
    return T(0);
  }
  T out = 1;
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) out = wrap_mul(out, base);
    base = wrap_mul(base, base);
  }
  return out;
}

}  // namespace walle::kernels
