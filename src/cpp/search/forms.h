// Two forms of the same sub-graph: which of them the search expects to be faster, before a plan is made.
//
// A plan chooses among candidates of one node. Where a pass could make one node of several, both forms cannot
// stand in one program, so that choice falls here, by the same costs.
#pragma once

#include <span>
#include <vector>

#include "search/search_options.h"

namespace walle::search {

// Whether `one` costs less than the nodes `several` it would stand for, each by its best candidate on the
// cheapest backend; false where no backend runs `one`. Without a search (options.search) whatever can be one
// is: the first candidates are references, whose costs say nothing.
bool costs_less(const ops::Program& program, const ops::ProgramNode& one,
                std::span<const ops::ProgramNode* const> several,
                const std::vector<const backends::Backend*>& backends, const SearchOptions& options);

}  // namespace walle::search
