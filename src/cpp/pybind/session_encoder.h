// A model's session as the encoder of a stream graph: here alone engine and stream processor meet on the
// host, because rooms of one floor do not know each other.
#pragma once

#include <pybind11/pybind11.h>

#include "stream/operators/operators.h"

namespace walle::pybind {

// `session` is a _core.Session, which lives as long as the encoder. Called with Python's lock held.
std::shared_ptr<stream::Encoder> session_encoder(pybind11::object session);

}  // namespace walle::pybind
