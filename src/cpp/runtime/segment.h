// Segment: nodes [begin, end) of a graph, compiled for the shapes, and the values that decide shapes, which
// they were met with, or for the class of those shapes.
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
#include "runtime/shape_class.h"

namespace walle::runtime {

// What every value of a graph is at this moment of a run; by ValueId, empty where it is not computed yet.
using Environment = std::vector<ir::RuntimeValue>;

struct LiveIn {
  ir::ValueId id;
  DType dtype;
  Shape shape;  // with symbols, where the plan is for a class of shapes
};

struct ValueDependency {
  ir::ValueId id;
  Tensor value;  // a copy: the value met may be the caller's memory
  // Its elements, where some of them are symbols of a class of shapes.
  std::vector<Dim> sizes{};
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
  std::unique_ptr<ShapeClass> shapes;  // of a plan for several; nullptr: for the very sizes of live_ins
  uint64_t used = 0;                   // when it was asked for last, on the clock of the session

  // Whether a plan for its own sizes is for the values in `env`.
  bool matches(const Environment& env) const;
  // Whether a plan for a class is, which it then is fitted to.
  Result<bool> serves(const Environment& env, SharedState& shared);
  // Whether it differs from a plan for these values in sizes alone.
  bool differs_in_sizes(const Environment& env) const;

 private:
  bool same_dependencies(const Environment& env) const;
  bool read_symbol(Dim d, int64_t size);
  bool read_symbols(const Environment& env);

  std::vector<int64_t> symbols_;  // scratch of serves()
};

// Whether a value that decided sizes is such as may be sizes itself: a few whole numbers.
bool may_be_sizes(const Tensor& value);

// A node the executor runs itself: control operators, and Identity of a sequence or optional.
// It ends a segment.
bool is_executor_node(const ir::Graph& graph, const ir::Node& node, const Environment& env);

}  // namespace walle::runtime
