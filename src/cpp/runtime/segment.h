// Segment: nodes [begin, end) of a graph compiled for the shapes (and shape-deciding values) they were met
// with.
#pragma once

#include <memory>
#include <vector>

#include "ir/runtime_value.h"
#include "runtime/executable.h"
#include "runtime/shared_state.h"

namespace walle::runtime {

struct LiveIn {
  ir::ValueId id;
  DType dtype;
  Shape shape;
};

struct ValueDependency {
  ir::ValueId id;
  Tensor value;
};

struct Export {
  ir::ValueId id;
  size_t output;  // position in program.outputs
};

struct Segment {
  int begin = 0;
  int end = 0;
  std::vector<LiveIn> live_ins;               // aligned with program.inputs
  std::vector<ValueDependency> dependencies;  // values the plan was specialised on
  std::vector<Export> exports;
  std::unique_ptr<Executable> executable;

  bool matches(const std::vector<ir::RuntimeValue>& env) const;
};

// `last_use[id]` is the last node that reads the value (nodes.size() for graph outputs, -1 for nobody).
// Compiles as many nodes from `begin` on as the values in `env` allow; at least one.
Result<std::unique_ptr<Segment>> build_segment(const ir::Graph& graph, int begin,
                                               const std::vector<ir::RuntimeValue>& env,
                                               const std::vector<int>& last_use, SharedState& shared);

// A node the executor runs itself: control operators, and Identity of a sequence or optional.
bool is_executor_node(const ir::Graph& graph, const ir::Node& node, const std::vector<ir::RuntimeValue>& env);

}  // namespace walle::runtime
