// Semantic checks of a graph from a file or a converter: everything later stages rely on without looking
// again.
//
//   limits       nodes, values, nesting, arity, names
//   numbers      every value number in range
//   producers    each value has exactly one: an input, a constant or one node's output
//   order        nodes use only what earlier nodes made: no cycles
//   operators    known to `find`, arity within the table's row
//   bodies       If, Loop and Scan have theirs, with as many inputs as formal values and captures
//   constants    shape x dtype = bytes
//   names        inputs and outputs have distinct, non-empty names; signatures refer to them
#pragma once

#include <functional>
#include <string_view>

#include "ir/op_def.h"

namespace walle::ir {

// The op table, passed in because it lives on a higher floor.
using OpLookup = std::function<const OpDef*(std::string_view)>;

Status verify(const ModelData& model, const OpLookup& find);

}  // namespace walle::ir
