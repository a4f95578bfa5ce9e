// What a plan decides again when the sizes of its program change and nothing else: the choices of nodes, and
// the layout of the arena.
#pragma once

#include <optional>

#include "search/plan.h"
#include "search/search_options.h"

namespace walle::search {

// No choice of any step, taken or not, works in another memory than the host's: then placement is no question
// of sizes.
bool stays_in_one_memory(const Plan& plan);

// Bytes of an arena's block whose size is a symbol: up to a quarter more than asked for, so that a size that
// grows by one with every run seldom moves anything.
int64_t with_room(int64_t bytes);

// The choice that make_plan() takes for the node in a plan that stays in the host's memory; nothing where
// another memory has become a question. A backend error where no backend runs the node.
Result<std::optional<Choice>> choice_in_host_memory(const ops::Program& program, const ops::ProgramNode& node,
                                                    const std::vector<const backends::Backend*>& backends,
                                                    const SearchOptions& options);

}  // namespace walle::search
