// link::Transport by an object of Python: get(url, start, headers, sink) and post(url, content_type, body,
// headers, sink) return the status and call sink(bytes) for pieces of the body; name is a str.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "link/transport.h"

namespace walle::pybind {

std::unique_ptr<link::Transport> python_transport(const pybind11::object& object);

}  // namespace walle::pybind
