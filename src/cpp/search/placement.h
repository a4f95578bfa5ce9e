// Placement: which backend runs each node, so that computing plus copying takes least time.
//
// The general problem, a multiway cut of a graph, is NP-hard (Dahlhaus et al., "The Complexity of
// Multiterminal Cuts", 1994). What makes networks easy is that few values are alive at any point of the
// sequence, so this is a dynamic program along it whose state is who holds each living value. Every copy is
// charged when it is made, by the function that makes the plan's steps (copies.h): the cost returned is what
// the plan adds up to, with forks (copied once per memory) and joins. It is also the least possible as long
// as no more than kKeptStates states are alive at once; beyond that the cheapest so many are followed, and
// the result is a good placement whose cost is still exact.
#pragma once

#include <vector>

#include "search/copies.h"

namespace walle::search {

// Chosen, not measured: three living values that may lie in either or both of two memories make 27 states,
// four 81.
inline constexpr size_t kKeptStates = 64;

struct Placement {
  std::vector<int> backend;  // per node of the flow
  double cost_ms = 0;        // of nodes and copies
};

// Every choice for a node that is allowed, backends in order; a backend error when there is none.
Result<std::vector<Choice>> choices_for(const ops::Program& program, const ops::ProgramNode& node,
                                        const std::vector<const backends::Backend*>& backends, int threads,
                                        const CostModel& costs, const Allowed& allowed = {});

// Leaves out references of backends that have anything else for the node (Candidate::reference).
void drop_references(std::vector<Choice>& choices);

// costs[node][backend] is infinity where the backend cannot run the node; places[backend] numbers
// memories.
Placement place(const std::vector<std::vector<double>>& costs, const Flow& flow,
                const std::vector<Place>& places, const Transfers& transfers);

// For tests: any backend that runs the node, by a seed.
std::vector<int> place_at_random(const std::vector<std::vector<double>>& costs, uint64_t seed);

}  // namespace walle::search
