// What the executor spends outside the steps of its plans, kept while a session profiles: nodes that it runs
// itself, making plans and making them ready, and the steps of plans that made room for others.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/executable.h"

namespace walle::runtime {

struct RunnerTimes {
  std::vector<StepTime> nodes;  // as graph.nodes, or empty before the first profiled run
  StepTime planning;
  StepTime packing;  // of new plans: kernels made ready, weights read and packed
  StepTime fitting;  // plans of classes to new shapes
  StepTime dropped;
};

// Times a part of a run that holds others: the parts inside count for themselves, the rest for this one.
class TimedPart {
 public:
  TimedPart(Profiler* profiler, StepTime& time) : profiler_(profiler), time_(time) {
    if (!profiler_) return;
    begin_ = profiler_->now();
    inside_us_ = profiler_->accounted_us();
  }
  // When the part is done; the event shows it whole, with what it holds. The texts are made only to profile.
  template <class MakeEvent>
  void record(const MakeEvent& event) const {
    if (profiler_) add(event());
  }

 private:
  void add(ProfileEvent event) const {
    event.start_us = profiler_->since_start_us(begin_);
    event.duration_us = profiler_->us_since(begin_);
    const double own_us = event.duration_us - (profiler_->accounted_us() - inside_us_);
    time_.add(own_us);
    profiler_->account(own_us);
    profiler_->add(std::move(event));
  }

  Profiler* profiler_;
  StepTime& time_;
  Profiler::Clock::time_point begin_;
  double inside_us_ = 0;
};

// How explanations name the work of a node that the executor runs: "host_Loop".
inline std::string host_algorithm(const ir::Node& node) { return "host_" + node.op; }

}  // namespace walle::runtime
