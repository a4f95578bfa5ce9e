// What a plan decides again when the sizes of its program change and nothing else: the choices of nodes, and
// the layout of the arena.
#pragma once

#include <optional>

#include "search/plan.h"
#include "search/search_options.h"

namespace walle::search {

// No step has a choice in another memory that alone costs less than the one taken: then no copy can pay, and
// every step's cheapest choice is the cheapest placement.
bool stays_in_host_memory(const Plan& plan);

// The same nodes run on the same backends, with the same copies between them.
bool same_steps(const Plan& a, const Plan& b);

// Bytes of an arena's block whose size is a symbol: up to a quarter more than asked for, so that a size that
// grows by one with every run seldom moves anything.
int64_t with_room(int64_t bytes);

// The choice that make_plan() takes for the node in a plan that stays in the host's memory; nothing where
// one in another memory costs less, so that placement has become a question. A backend error where no backend
// runs the node.
Result<std::optional<Choice>> choice_in_host_memory(const ops::Program& program, const ops::ProgramNode& node,
                                                    const std::vector<const backends::Backend*>& backends,
                                                    const SearchOptions& options);

}  // namespace walle::search
