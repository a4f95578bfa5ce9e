// The one way an Error becomes a Python exception: unwrap(result) returns the value or throws CoreError,
// which errors.cc translates into the walle_rt.Error subclass of its group.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>

#include "base/status.h"

namespace walle::pybind {

// Thrown and caught between a binding and pybind11 alone: below the bindings nothing throws on purpose.
class CoreError : public std::exception {
 public:
  explicit CoreError(Error error) : error_(std::move(error)), text_(error_.message()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;  // what() must return a pointer that lasts as long as the exception
};

template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) throw CoreError(result.take_error());
  return std::move(result).value();
}

inline void unwrap(Status status) {
  if (!status.ok()) throw CoreError(status.take_error());
}

}  // namespace walle::pybind
