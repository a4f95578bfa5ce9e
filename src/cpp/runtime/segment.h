// Segment: nodes [begin, end) of a graph, compiled for the shapes, and the values that decide shapes, which
// they were met with.
//
// Made by compile(), immutable afterwards but for what its executable changes while it runs: one thread at a
// time. Plans are kept per segment and not per graph, because control flow and shapes that only a run can
// tell cut a graph into parts.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "ir/runtime_value.h"
#include "runtime/executable.h"

namespace walle::runtime {

// What every value of a graph is at this moment of a run; by ValueId, empty where it is not computed yet.
using Environment = std::vector<ir::RuntimeValue>;

struct LiveIn {
  ir::ValueId id;
  DType dtype;
  Shape shape;
};

struct ValueDependency {
  ir::ValueId id;
  Tensor value;  // a copy: the value met may be the caller's memory
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

  // Whether the plan is for the values in `env`.
  bool matches(const Environment& env) const;
};

// A node the executor runs itself: control operators, and Identity of a sequence or optional.
// It ends a segment.
bool is_executor_node(const ir::Graph& graph, const ir::Node& node, const Environment& env);

}  // namespace walle::runtime
