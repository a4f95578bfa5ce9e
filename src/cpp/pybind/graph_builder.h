// A graph under construction by a converter, and a finished model as data.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace walle::pybind {

struct GraphBuilder {
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
};

// What a converter hands over and Model.create takes. shared_ptr: Python may keep it while a model uses it.
struct ModelDataHandle {
  std::shared_ptr<const ir::ModelData> data;
};

}  // namespace walle::pybind
