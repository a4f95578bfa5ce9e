// Python values to the VM's Values and back; arrays and memoryviews cross as tensors that share their memory.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "vm/outcome.h"

namespace walle::pybind {

namespace py = pybind11;

// Bytes from this size on cross by reference: below it, counting references costs more than copying.
constexpr py::ssize_t kLargeBytes = 64 << 10;

// Throws CoreError for what cannot cross.
vm::Value value_of(py::handle object);
std::vector<vm::Value> arguments(const py::args& args);
// The value, or the exception that walle_rt.vm makes of the failure.
py::object finish(const vm::Outcome& outcome);
// Isolate.call for the class, with as little around the call as Python allows (vm_call.cc).
py::object call_method(const py::object& isolate_class);

}  // namespace walle::pybind
