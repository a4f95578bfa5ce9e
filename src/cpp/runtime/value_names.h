// Names of a model's inputs and outputs against those a caller gave, with one wording for every binding.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace walle::runtime {

std::vector<std::string> value_names(const ir::Graph& graph, std::span<const ir::ValueId> ids);

// `role` is "input" or "output". Names the nearest known name as the next step.
Error unknown_name(std::string_view given, std::string_view role, std::span<const std::string> known);

// Every given name is an input, and every input that is no optional has been given. An unknown name is told
// first: a misspelt one explains a missing one best.
Status check_input_names(const ir::Graph& graph, std::span<const std::string> given);

}  // namespace walle::runtime
