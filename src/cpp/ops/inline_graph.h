// A graph written into the program that is being lowered, as if its nodes stood there.
#pragma once

#include "ir/graph.h"
#include "ops/lower.h"

namespace walle::ops {

// `inputs` stand for graph.inputs; the results for graph.outputs. A model error for operators that only the
// executor runs, and for shapes that hang on values of a run.
Result<std::vector<Ref>> inline_graph(Lowering& lowering, const ir::Graph& graph,
                                      const std::vector<Ref>& inputs);

}  // namespace walle::ops
