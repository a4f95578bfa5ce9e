// A finished model as data: what converters and files hand over and Model.create takes.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace walle::pybind {

// shared_ptr: Python may keep it while a model uses it.
struct ModelDataHandle {
  std::shared_ptr<const ir::ModelData> data;
};

}  // namespace walle::pybind
