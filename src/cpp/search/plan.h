// Plan: what the search decides for a Program on this machine. Which backend and algorithm runs each node,
// and where every value lives. Immutable once made; never shipped.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace walle::search {

struct Choice {
  const backends::Backend* backend = nullptr;
  backends::Candidate candidate;
};

struct Step {
  int node = 0;  // index into program.nodes
  Choice chosen;
  std::vector<Choice> losers;
  int64_t workspace_offset = 0;
};

enum class Home : uint8_t { nowhere, arena, input, output, constant };

// Where a value lives: `root` names the input, output or constant whose bytes it shares.
struct Storage {
  Home home = Home::nowhere;
  ops::Ref root = ops::kNoRef;
  int64_t offset = 0;  // bytes: into the arena, or into the root
};

struct Plan {
  std::vector<Step> steps;       // nodes that became aliases have none
  std::vector<Storage> storage;  // per program value
  int64_t arena_bytes = 0;
  int64_t activation_bytes = 0;  // sum of all intermediate values, before sharing
  int aliases = 0;
  double predicted_ms = 0;
};

struct SearchOptions {
  int threads = 1;
  bool search = true;  // false: the first candidate of the first backend, undecided by cost
};

// A backend error names a node that no backend runs.
Result<Plan> make_plan(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
                       const SearchOptions& options);

}  // namespace walle::search
