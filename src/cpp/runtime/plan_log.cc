#include "runtime/plan_log.h"

#include <cstdio>

#include "base/log.h"

namespace walle::runtime {

void log_plan(const ir::Graph& graph, const Segment& segment, std::chrono::steady_clock::time_point began) {
  if (!base::log_enabled(base::LogLevel::debug)) return;  // the text is made only for who reads it
  const search::Plan& plan = segment.executable->plan();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  char figures[128];  // four numbers of at most 20 digits, and 46 letters
  std::snprintf(figures, sizeof figures, "%zu steps, arena %.2f MB, predicted %.3f ms, planned in %.3f ms",
                plan.steps.size(), static_cast<double>(plan.arena_bytes()) / 1e6, plan.predicted_ms,
                took.count());
  base::log(base::LogLevel::debug, "nodes " + std::to_string(segment.begin) + " to " +
                                       std::to_string(segment.end - 1) + " of graph '" + graph.name +
                                       "': " + figures);
}

}  // namespace walle::runtime
