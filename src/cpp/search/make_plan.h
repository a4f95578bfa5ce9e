// The search: from a program to a plan of this machine. Apart from plan.h, which is data alone: what the
// search is made of (placement, copies, arenas) reads plans, and must not need the search itself.
#pragma once

#include <vector>

#include "search/search_options.h"

namespace walle::search {

// A backend error names a node that no backend runs; a resource error a memory whose arena would be too
// large.
Result<Plan> make_plan(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
                       const SearchOptions& options);

}  // namespace walle::search
