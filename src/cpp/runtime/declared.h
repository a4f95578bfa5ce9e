// What a graph declares of its results against what is computed.
#pragma once

#include <span>
#include <vector>

#include "runtime/segment.h"

namespace walle::runtime {

// A model error when the value has a declared dtype and this is another one: a caller who believed the
// declaration would read the bytes as what they are not.
Status check_dtype(const ir::Value& value, DType computed);

// The same for everything that a new plan computes.
Status check_declared(const ir::Graph& graph, const Segment& segment);

// The memory given for results of the graph, in the order of this plan's results. An argument error when it
// is not of the dtype and shape that the plan computes.
Result<std::vector<Tensor>> given_to(const ir::Graph& graph, const Segment& segment,
                                     std::span<const Tensor> given);

}  // namespace walle::runtime
