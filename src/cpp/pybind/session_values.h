// What a session takes and gives: arrays, lists of them, None.
#pragma once

#include <pybind11/pybind11.h>

#include "ir/graph.h"
#include "ir/runtime_value.h"

namespace walle::pybind {

// The value of an input, which shares the array's memory. Throws CoreError for what the input cannot take.
ir::RuntimeValue value_from(pybind11::handle object, const ir::Value& declared);
// A tuple or list of int is the shape of a tensor without contents (Session::prepare), anything else a value.
ir::RuntimeValue shape_from(pybind11::handle object, const ir::Value& declared);
// Memory of its own: what a caller gets is his to change.
pybind11::object value_to_python(const ir::RuntimeValue& value);

}  // namespace walle::pybind
