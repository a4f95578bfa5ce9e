// The stage "lower" of the pipeline, for one node: what it becomes in the program of its segment.
#pragma once

#include "runtime/infer_shapes.h"

namespace walle::runtime {

// Folds it, leaves it whole for a backend that claims it, or decomposes it; ops/lower.h has the rules.
Status lower_node(SegmentBuilder& segment, const TypedNode& typed);

}  // namespace walle::runtime
