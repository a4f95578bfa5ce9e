// Decisions taken from a cache where it has them, and searched for and kept where it has not.
#pragma once

#include <functional>
#include <vector>

#include "search/search_options.h"

namespace walle::search {

// Everything that may change what a search decides: program, options, backends and their devices, costs, and
// the version of this library.
uint64_t plan_key(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
                  const SearchOptions& options);

// Which choice each node takes, `choices` with what was measured then. A cached answer counts only if it
// lists these very choices for every node: kernels come and go with versions, instruction sets and variables.
Result<std::vector<size_t>> recalled(const ops::Program& program,
                                     const std::vector<const backends::Backend*>& backends,
                                     const SearchOptions& options,
                                     const std::function<Result<std::vector<size_t>>()>& search,
                                     std::vector<std::vector<Choice>>& choices, PlanSource& source);

}  // namespace walle::search
