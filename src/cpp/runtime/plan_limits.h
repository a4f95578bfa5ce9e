// Which plans a session keeps: of each graph at most `max_plans`, and of all graphs together what fits into
// `max_plan_bytes`. The least recently used go first, and with them what was made for them alone.
//
// Called by the session's one run at a time, between the segments of a graph: no plan is under way.
#pragma once

#include "runtime/kept_plans.h"

namespace walle::runtime {

// What plans take, in bytes. Constants and packed weights are counted that one plan alone uses, and that are
// none of the model's: what would go with it.
struct PlanBytes {
  int64_t steps = 0;      // estimated: programs, choices, kernels
  int64_t constants = 0;  // masks and tables of a shape
  int64_t packed = 0;     // made of them
  int64_t arena = 0;      // that the largest of them needs

  int64_t total() const { return steps + constants + packed + arena; }
};

PlanBytes plan_bytes(const SharedState& shared);

// After `newest` was added to the plans of a graph; it stays, whatever it takes.
void keep_limits(KeptPlans& plans, const Segment& newest, SharedState& shared);

// All plans of all graphs; their times stay. What was made for them is forgotten by the model's constants.
void drop_all_plans(SharedState& shared);

}  // namespace walle::runtime
