// What a search may be asked for.
#pragma once

#include <optional>

#include "search/cost_model.h"
#include "search/plan.h"
#include "search/plan_cache.h"

namespace walle::search {

struct SearchOptions {
  int threads = 1;
  const CostModel* costs = nullptr;  // outlives the call; none: reference_costs()
  int tune = 0;                      // of each node, measure so many of the most promising choices
  bool search = true;                // false: the first candidate of the first backend, undecided by cost
  Allowed allowed;
  const PlanCache* cache = nullptr;          // outlives the call; none: nothing is kept
  std::optional<uint64_t> random_placement;  // tests: every node on any backend that runs it, by this seed
};

}  // namespace walle::search
