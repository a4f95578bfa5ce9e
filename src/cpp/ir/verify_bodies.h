// What If, Loop, Scan and Gradient need of their bodies: the part of ir/verify.h that knows operators by
// name.
//
// The op table has no room for it: a row says how many operands a node has, and here that depends on what its
// attributes hold. Graphs are closed (ir/graph.h), so a control node lists what its bodies capture behind its
// own inputs, and counts it in an attribute that a file may have written anything into.
#pragma once

#include <string>

#include "ir/graph.h"

namespace walle::ir::detail {

Error graph_fault(Text given, Text expected, Text place);

// Precondition: the graphs in the node's attributes are verified. Nodes of other operators pass.
Status check_bodies(const Node& n, const std::string& place);

}  // namespace walle::ir::detail
