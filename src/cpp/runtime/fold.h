// Constant folding: nodes whose inputs are all known are computed once, at load or while planning.
#pragma once

#include "ir/graph.h"
#include "ops/lower.h"
#include "runtime/options.h"

namespace walle::runtime {

// Computes a program without inputs on the CPU backend; the hook LowerOptions::fold takes.
Result<std::vector<Tensor>> fold_program(const ops::Program& program);

// The largest value that is computed while a plan is made.
int64_t fold_limit(const SessionOptions& options);

// Replaces every deterministic node of the graph whose inputs are constants by its value, bodies included. A
// node that fails to fold stays; running it will report its error.
void fold_constants(ir::Graph& graph);

}  // namespace walle::runtime
