// Python's times are seconds, the core's microseconds.
#pragma once

namespace walle::pybind {

inline constexpr double kMicroseconds = 1e6;  // in a second

}  // namespace walle::pybind
