// Placement over backends: dynamic programming along the op sequence.
// cost(plan) = sum over ops of min over algorithms of the predicted time, plus copies where the backend
// changes.
#pragma once

#include <vector>

#include "search/plan.h"

namespace walle::search {

// Every choice for a node, best first per backend; a backend error when there is none.
Result<std::vector<Choice>> choices_for(const ops::Program& program, const ops::ProgramNode& node,
                                        const std::vector<const backends::Backend*>& backends, int threads);

// Milliseconds to hand `bytes` from one backend to another.
double transfer_ms(const backends::Backend& from, const backends::Backend& to, double bytes);

// For each node the index of the chosen backend, minimising op costs plus transfers. costs[node][backend] is
// infinity where the backend cannot run the node; bytes[node] is what crosses if the backend changes before
// it.
std::vector<int> place(const std::vector<std::vector<double>>& costs, const std::vector<double>& bytes,
                       const std::vector<const backends::Backend*>& backends);

}  // namespace walle::search
