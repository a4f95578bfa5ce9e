// The stage "shapes" of the pipeline, for one node: dtypes and shapes of its results from
// those of its operands.
#pragma once

#include <optional>
#include <vector>

#include "runtime/segment_builder.h"

namespace walle::runtime {

// A node with its place in the program and its result types: what lowering takes.
struct TypedNode {
  const ir::Node& node;
  const ir::OpDef& op;
  std::vector<ops::Ref> inputs;
  std::vector<ir::InferOutput> outputs;
};

// Nothing when the shapes hang on a value that this segment is about to compute: it ends before the node.
Result<std::optional<TypedNode>> infer_shapes(SegmentBuilder& segment, const ir::Node& node);

}  // namespace walle::runtime
