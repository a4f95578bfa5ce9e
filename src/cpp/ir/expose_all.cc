#include "ir/expose_all.h"

#include <set>

namespace walle::ir {

ModelData expose_all(const Graph& graph) {
  ModelData data;
  data.graph = graph;
  Graph& exposed = data.graph;
  exposed.outputs.clear();
  std::set<std::string> names;
  for (const Node& node : exposed.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == kNone) continue;
      std::string& name = exposed.at(id).name;
      // Two nodes of different functions or bodies may have been given one name; inside a graph only numbers
      // tell values apart.
      if (!names.insert(name).second) name += "#" + std::to_string(id);
      exposed.outputs.push_back(id);
    }
  }
  return data;
}

}  // namespace walle::ir
