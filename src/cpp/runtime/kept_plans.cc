#include "runtime/kept_plans.h"

#include <algorithm>

namespace walle::runtime {

KeptPlans::KeptPlans(const ir::Graph& graph, SharedState& shared, StepTime& dropped)
    : graph_(graph), shared_(shared), dropped_(dropped) {
  shared_.plans.push_back(this);
}

KeptPlans::~KeptPlans() { std::erase(shared_.plans, this); }

Segment& KeptPlans::add(std::unique_ptr<Segment> segment) {
  Segment& added = *segments_.emplace_back(std::move(segment));
  use(added);
  return added;
}

void KeptPlans::drop(const Segment& segment) {
  for (const StepTime& step : segment.executable->times()) {
    dropped_.runs += step.runs;
    dropped_.total_us += step.total_us;
  }
  std::erase_if(segments_, [&](const auto& kept) { return kept.get() == &segment; });
}

}  // namespace walle::runtime
