// compile(): from a verified graph to a plan that runs, stage by stage as docs/concepts/pipeline.md has them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/runner_times.h"
#include "runtime/segment.h"
#include "runtime/shared_state.h"

namespace walle::runtime {

// Compiles as many nodes from `begin` on as the values in `env` allow; at least one, which must not be one
// that the executor runs. `last_use[id]` is the last node that reads the value (nodes.size() for graph
// outputs, -1 for nobody). `other`: a plan of the same nodes that differs in sizes alone, or nullptr; the
// sizes that differ become symbols of a plan for both, and for more (runtime/shape_class.h). `packing` is
// given the time that making kernels ready took, while a session profiles.
Result<std::unique_ptr<Segment>> compile(const ir::Graph& graph, int begin, const Environment& env,
                                         const std::vector<int>& last_use, SharedState& shared,
                                         const Segment* other, StepTime& packing);

}  // namespace walle::runtime
