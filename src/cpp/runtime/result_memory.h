// Results in memory of the caller: what may be given, and the copy where a plan could not write there.
//
// A plan writes there what it computes into memory of its own. Copied once are results that are an input, a
// constant or a second name of another result, and those of operators that the executor runs.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/runtime_value.h"

namespace walle::runtime {

// The error of memory that is not of a result's dtype and shape.
Error misfit(const Tensor& given, DType dtype, const Shape& shape);

// `given` as RunOptions::results: one tensor per output, of its dtype, writable, apart from each other and
// from the inputs.
Status check_result_memory(const ir::Graph& graph, std::span<const Tensor> given,
                           const std::vector<ir::RuntimeValue>& inputs);

// Copies into `given` every result that does not lie there yet and makes it that one.
Status fill_result_memory(const ir::Graph& graph, std::span<const Tensor> given,
                          std::vector<ir::RuntimeValue>& results);

}  // namespace walle::runtime
