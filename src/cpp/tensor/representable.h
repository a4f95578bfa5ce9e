// Which doubles an element type can hold: converting any other to an integer is undefined behaviour.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace walle::tensor {

// True when `value` without its fraction is a T (and for every T that is no integer); false for NaN.
template <class T>
bool representable(double value) {
  if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
    return true;
  } else {
    // One past the largest T, a power of two: the largest 64-bit integer itself is no double.
    constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    const double whole = std::trunc(value);
    return whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < kEnd;
  }
}

}  // namespace walle::tensor
