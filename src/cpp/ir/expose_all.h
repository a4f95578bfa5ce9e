// A model whose every value can be looked at: what `walle inspect` and comparisons of two runtimes need.
#pragma once

#include "ir/graph.h"

namespace walle::ir {

// The graph with every value a node makes as an output, in node order; constants and inputs are no outputs.
// Outputs are taken by name, so values that share one are told apart by their number: "sum", "sum#17".
// Signatures do not carry over: they name outputs this graph no longer gives in that order.
ModelData expose_all(const Graph& graph);

}  // namespace walle::ir
