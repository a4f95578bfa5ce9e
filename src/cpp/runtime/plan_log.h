// The log line of a new plan: it says why the first run with new shapes took longer.
#pragma once

#include <chrono>

#include "runtime/segment.h"

namespace walle::runtime {

void log_plan(const ir::Graph& graph, const Segment& segment, std::chrono::steady_clock::time_point began);

}  // namespace walle::runtime
