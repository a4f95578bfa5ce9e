// Semantic checks of a graph from a file or a converter: everything later stages rely on without looking
// again.
//
//   limits       nodes, values, nesting, arity, names
//   numbers      every value number in range
//   producers    each value has exactly one: an input, a constant or one node's output
//   order        nodes use only what earlier nodes made: no cycles
//   operators    known to `find`, arity within the table's row
//   bodies       If, Loop, Scan and Gradient have theirs, with as many inputs as formal values and captures
//   constants    shape x dtype = bytes
//   names        inputs and outputs have distinct, non-empty names; signatures refer to them
//
// Each check stands on the ones before it, and that is the order in which they are made: limits come before
// anything that takes time or memory in proportion to what they bound, numbers are in range before they
// index, producers are known before order can be asked, bodies are sound before their inputs are counted, and
// names are looked up by numbers that have passed. Shapes and dtypes are not checked here: they depend on
// what a session is given, and the shape rules of ops/ refuse what does not fit.
//
// The limits (base/limits.h) lie far above what models in use ask for: a file beyond them is damaged or
// hostile. Refusing it here, with the limit named, lets every later stage size its tables by these counts
// without asking again.
//
// The first fault ends it. A damaged file has many that follow from one, and a converter that wants to tell
// all at once (unsupported operators) does so before it makes a graph.
#pragma once

#include <functional>
#include <string_view>

#include "ir/op_def.h"

namespace walle::ir {

// The op table, passed in because it lives on a higher floor.
using OpLookup = std::function<const OpDef*(std::string_view)>;

Status verify(const ModelData& model, const OpLookup& find);

}  // namespace walle::ir
