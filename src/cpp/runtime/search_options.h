// What a session asks of the search.
#pragma once

#include "runtime/shared_state.h"
#include "search/search_options.h"

namespace walle::runtime {

// The costs of this machine are made, or measured, when they are first asked for.
Result<search::SearchOptions> search_options(SharedState& shared);

}  // namespace walle::runtime
