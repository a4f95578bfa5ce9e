// Lays out the arena of every memory of a plan: a block for each value and each workspace, for as long as
// steps use it there.
#pragma once

#include "search/views.h"

namespace walle::search {

// Fills in every memory's arena_bytes and storage, the steps' workspace offsets and plan.activation_bytes. A
// resource error when an arena would exceed base::kMaxArenaBytes.
Status plan_arenas(const ops::Program& program, const Views& views, Plan& plan);

}  // namespace walle::search
