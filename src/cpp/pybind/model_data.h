// A finished model as data: what converters and files hand over and Model.create takes.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "ir/graph.h"

namespace walle::pybind {

// shared_ptr: Python may keep it while a model uses it.
struct ModelDataHandle {
  std::shared_ptr<const ir::ModelData> data;
};

// The bytes of a .walle file.
pybind11::bytes serialized(const ir::ModelData& data);

}  // namespace walle::pybind
