// Types and shapes that fit no run, told when the model is made and not by its first run.
#pragma once

#include "ir/graph.h"

namespace walle::runtime {

// A model error for a node whose shape rule refuses its operands whatever the sizes that the graph leaves
// open, or a result declared of a dtype that it never has. What hangs on open sizes, on values or on control
// operators is left to planning, bodies too: nobody knows that they run.
Status check_shapes(const ir::Graph& graph);

}  // namespace walle::runtime
