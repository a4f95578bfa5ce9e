// Plan: what the search decides for a Program on this machine. Which backend and algorithm runs each node,
// what is copied between memories when, and where every value lies in each of them. Never shipped: costs and
// instruction sets are this machine's.
//
// Immutable once made, so any thread may read it. Invariants: steps are in an order in which every
// operand is made, and copied to where it is read, before its reader; values that live at once in one
// memory do not overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace walle::search {

// A memory of a plan by number. Graph inputs, results and constants belong to the host's.
inline constexpr int kHost = 0;

// What Candidate::error may be for accuracy="strict" and "normal"; for "fast" there is no bound.
inline constexpr double kStrictError = 1;
inline constexpr double kNormalError = 4;

// What candidates a session lets into its search.
struct Allowed {
  double error = kNormalError;                                  // backends::Candidate::error, at most
  backends::Arithmetic arithmetic = backends::Arithmetic::own;  // beside operands' own

  bool has(const backends::Candidate& c) const {
    const bool asked =
        c.arithmetic == backends::Arithmetic::bfloat16 || c.arithmetic == backends::Arithmetic::float16;
    return c.error <= error && (!asked || c.arithmetic == arithmetic);
  }
};

struct Choice {
  const backends::Backend* backend = nullptr;
  backends::Candidate candidate;
  double predicted_ms = 0;  // by the cost model
  double measured_ms = 0;   // by a tuned search (tune.h); 0: not measured

  double cost_ms() const { return measured_ms > 0 ? measured_ms : predicted_ms; }
};

// All bytes of one value, from the host to another memory or back, or between two that reach each other.
struct Copy {
  ops::Ref value = ops::kNoRef;
  int from = kHost;
  int to = kHost;
  int64_t bytes = 0;
  double cost_ms = 0;
  int maker = -1;  // index into program.nodes; negative: the value is an input

  bool across() const { return from != kHost && to != kHost; }
  int device() const { return to == kHost ? from : to; }
};

// Runs a node, or copies a value.
struct Step {
  int node = -1;       // index into program.nodes; negative: a copy
  int source = kHost;  // a node's: where its inputs lie
  int memory = kHost;  // and where its results and its workspace do
  Choice chosen;
  std::vector<Choice> losers;
  int64_t workspace_offset = 0;
  Copy copy;

  bool is_copy() const { return node < 0; }
  double cost_ms() const { return is_copy() ? copy.cost_ms : chosen.cost_ms(); }
};

// Of these only the arena's bytes are the plan's to share out; the others belong to the caller or the model.
enum class Home : uint8_t { nowhere, arena, input, output, constant };

// Where a value lies in one memory: `root` names the input, output or constant whose bytes it shares.
struct Storage {
  Home home = Home::nowhere;
  ops::Ref root = ops::kNoRef;
  int64_t offset = 0;  // bytes: into the arena, or into the root
};

struct PlannedMemory {
  backends::Memory* memory = nullptr;
  int64_t arena_bytes = 0;
  std::vector<Storage> storage;  // per program value; nowhere: no step uses it in this memory

  const Storage& at(ops::Ref r) const { return storage[r]; }
};

// Where the decisions of a plan come from.
enum class PlanSource : uint8_t {
  search,    // nobody asked for a cache
  kept,      // searched, then written to the cache
  not_kept,  // searched; the cache could not be written
  mended,    // what the cache held was damaged or of other kernels: searched, then replaced
  cache
};

struct Plan {
  std::vector<Step> steps;              // nodes that became aliases have none
  std::vector<PlannedMemory> memories;  // the host's first, then those of the backends
  int64_t activation_bytes = 0;         // sum of all intermediate values, before sharing
  int aliases = 0;
  double predicted_ms = 0;  // of all steps, copies included
  PlanSource source = PlanSource::search;
  double search_ms = 0;  // that it took to make this plan

  int64_t arena_bytes() const {  // of all memories together
    int64_t total = 0;
    for (const PlannedMemory& m : memories) total += m.arena_bytes;
    return total;
  }
  const Storage& at(int memory, ops::Ref r) const { return memories[memory].at(r); }
};

}  // namespace walle::search
