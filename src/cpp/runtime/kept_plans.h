// KeptPlans: the plans of one graph that its session keeps, in the order they were made. Which of them go is
// for plan_limits.h to say.
//
// One run at a time, guarded by the session. Known to all plans of the session while it lives.
#pragma once

#include <memory>
#include <vector>

#include "runtime/segment.h"
#include "runtime/shared_state.h"

namespace walle::runtime {

class KeptPlans {
 public:
  // `dropped` gains the times of the plans that go.
  KeptPlans(const ir::Graph& graph, SharedState& shared, StepTime& dropped);
  ~KeptPlans();
  KeptPlans(const KeptPlans&) = delete;
  KeptPlans& operator=(const KeptPlans&) = delete;

  Segment& add(std::unique_ptr<Segment> segment);
  void use(Segment& segment) { segment.used = ++shared_.clock; }
  void drop(const Segment& segment);
  void clear() { segments_.clear(); }

  const ir::Graph& graph() const { return graph_; }
  const std::vector<std::unique_ptr<Segment>>& all() const { return segments_; }

 private:
  const ir::Graph& graph_;
  SharedState& shared_;
  StepTime& dropped_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

}  // namespace walle::runtime
