// Results of the core in a module that has no error classes of its own: RuntimeError with the core's message.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>

#include "base/status.h"

namespace walle::bench {

namespace py = pybind11;

inline void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message());
}

template <class T>
T value(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace walle::bench
