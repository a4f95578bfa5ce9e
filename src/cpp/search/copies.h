// What crosses from one memory to another: one rule and one price, for the placement that charges for it and
// for the plan that makes the steps.
//
// A value is copied whole, once per memory that needs it, and through the host: a copy between two devices is
// one out and one in, and a value that both the host and a third memory need crosses out once.
#pragma once

#include <bit>

#include "search/cost_model.h"
#include "search/views.h"

namespace walle::search {

// The memories that hold a value, one bit each: states of the placement are compared and
// kept by the thousand.
using Holders = uint16_t;
inline constexpr int kMaxMemories = 16;  // more than there are kinds of devices in a machine
inline constexpr Holders holder(int memory) { return static_cast<Holders>(1U << memory); }

// Calls copy(from, to) for each copy that brings a value to memory `to`; who holds it afterwards.
// Invariant: what the host does not hold lies in one memory only, the one that made it.
template <class Fn>
Holders bring(Holders held, int to, Fn copy) {
  if (held & holder(to)) return held;
  if (!(held & holder(kHost))) {
    copy(std::countr_zero(held), kHost);
    held |= holder(kHost);
  }
  if (to != kHost) copy(kHost, to);
  return static_cast<Holders>(held | holder(to));
}

// The memories that a backend's kernels read in and write in.
struct Place {
  Place(int memory) : source(memory), memory(memory) {}  // mostly one
  Place(int source, int memory) : source(source), memory(memory) {}

  int source;
  int memory;
};

// A program as placement sees it: which roots each node reads and makes. Constants are left out: they are
// copied once per model, before any run.
struct Flow {
  struct Node {
    std::vector<ops::Ref> reads;  // each root once
    std::vector<ops::Ref> makes;
  };
  // From the host to a memory and back, where that is more than a copy of the bytes.
  struct Crossing {
    double in_ms = 0;
    double out_ms = 0;
  };
  struct Root {
    int64_t bytes = 0;
    bool given = false;                // an input: the host holds it from the start
    bool wanted = false;               // a result: the host must hold it at the end
    std::vector<Crossing> crossing{};  // per memory; empty: copies everywhere
  };
  std::vector<Node> nodes;  // those that are no views, in order
  std::vector<Root> roots;  // per program value; empty for values that are no roots

  const Root& root(ops::Ref r) const { return roots[r]; }
};

Flow flow_of(const ops::Program& program, const Views& views);

// Memories that lay values out otherwise convert what crosses: asks them what that is, and the costs for its
// time.
void price_conversions(const ops::Program& program, const std::vector<PlannedMemory>& memories, int threads,
                       const CostModel& costs, Flow& flow);

// Of one value between the host and another memory.
inline double crossing_ms(const Flow::Root& root, int from, int to, const CostModel& costs) {
  if (root.crossing.empty()) return costs.copy_ms(root.bytes);
  return from == kHost ? root.crossing[to].in_ms : root.crossing[from].out_ms;
}

// The copies of a placement (per node of the flow, its memories), each before the node it is listed with;
// nodes.size() stands for the end. A value made by a node is copied right after it, so that its block is free
// early and a device may copy while others compute; an input right before its first reader, because its bytes
// stay where they are anyway.
struct CopyBefore {
  size_t node;
  Copy copy;  // maker: index into flow.nodes
};
std::vector<CopyBefore> copies_of(const Flow& flow, const std::vector<Place>& places, const CostModel& costs);

}  // namespace walle::search
