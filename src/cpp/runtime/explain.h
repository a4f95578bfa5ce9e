// What ran where, by which algorithm, at what predicted and measured cost, and where its result lies.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph_runner.h"

namespace walle::runtime {

// One way to run a step, taken or not.
struct ExplainChoice {
  std::string backend;
  std::string algorithm;
  backends::Features features;
  double predicted_ms = 0;
  double measured_ms = 0;  // by a tuned search; 0: not measured
  bool taken = false;
};

// One step of one plan: a node, or a copy between memories (op "copy"). Plan 0: what the executor does
// outside plans - nodes that it runs itself, each without the steps of its bodies; making plans (op "plan");
// steps of plans that made room for others (op "dropped").
struct ExplainRow {
  int plan = 0;  // plans are numbered in the order they are listed: one per part of a graph and set of shapes
  std::string graph;
  std::string node;
  std::string op;
  std::string backend;
  std::string algorithm;
  std::vector<std::pair<std::string, int64_t>> parameters;
  std::string arithmetic;  // dtype that it multiplies in: its first operand's, or a shorter one
  std::string weights;     // dtype that its constant operand of two or more axes lies in; "" without one
  std::string output;      // dtype that the first result is kept in, and its shape
  std::string memory;      // that it lies in: "host", or a backend's own
  std::string storage;     // of that result: "arena", "output", "input", "constant" or "nowhere"
  int64_t offset = 0;      // in bytes, into the arena or into the value whose bytes it shares
  int64_t workspace_bytes = 0;
  double flops = 0;
  double bytes = 0;  // read and written once; of a copy, moved
  double predicted_ms = 0;
  int64_t measured_runs = 0;                           // of this step, under profile()
  double measured_ms = 0;                              // mean of those runs; 0 without any
  std::vector<std::pair<std::string, double>> losers;  // algorithm, predicted ms
  std::vector<ExplainChoice> choices;                  // of nodes: the one taken first, then the losers
};

struct ExplainReport {
  std::vector<ExplainRow> rows;
  int plans = 0;
  int64_t arena_bytes = 0;                // of all memories, for the largest plan
  std::map<std::string, int64_t> arenas;  // the same per memory, each for the plan that needs most there
  int64_t activation_bytes = 0;
  int aliases = 0;
  double predicted_ms = 0;
  double search_ms = 0;                       // that making these plans took, kernels not included
  std::string costs;                          // the table of costs
  std::map<std::string, int> plan_sources;    // how many plans were "search"ed for, came from the "cache" ...
  std::map<std::string, int> weight_sources;  // how many packed blocks came from the weights "cache" ...
  int64_t profiled_runs = 0;                  // of the session
  double wall_ms = 0;   // mean of those; what the rows do not add up to is not accounted for
  std::string program;  // text dump of every lowered segment
};

// Appends the plans of this graph and of the bodies that ran.
void explain(const GraphRunner& runner, ExplainReport& report);

}  // namespace walle::runtime
