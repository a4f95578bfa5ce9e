// What crosses from one memory to another: one rule and one price, for the placement that charges for it and
// for the plan that makes the steps.
//
// A value is copied whole and once per memory that needs it, by the cheapest way from where it lies when it
// is needed first: straight where one memory reaches the other, or through the host, one out and one in. Then
// the host holds it, too, and a value that both the host and a third memory need crosses out once. Whoever
// needs it later is not looked at: a way straight there may cost a copy out that the other would have spared.
// Placements are charged for both, so that their costs stay exact.
#pragma once

#include <bit>

#include "search/transfers.h"
#include "search/views.h"

namespace walle::search {

// The memories that hold a value, one bit each: states of the placement are compared and
// kept by the thousand.
using Holders = uint16_t;
static_assert(8 * sizeof(Holders) >= kMaxMemories);
inline constexpr Holders holder(int memory) { return static_cast<Holders>(1U << memory); }

// Calls copy(from, to) for each copy that brings a value to memory `to`; who holds it afterwards. ms(from,
// to): what a copy of it costs, infinity where the memories do not reach each other.
template <class Ms, class Fn>
Holders bring(Holders held, int to, Ms ms, Fn copy) {
  if (held & holder(to)) return held;
  const auto nearest = [&](int goal) {
    int best = std::countr_zero(held);
    for (Holders rest = held & (held - 1); rest != 0; rest &= rest - 1) {
      const int next = std::countr_zero(rest);
      if (ms(next, goal) < ms(best, goal)) best = next;
    }
    return best;
  };
  const int straight = nearest(to);
  if (to != kHost && !(held & holder(kHost))) {
    const int out = nearest(kHost);
    // On a tie through the host, whose readers then find it.
    if (ms(out, kHost) + ms(kHost, to) <= ms(straight, to)) {
      copy(out, kHost);
      copy(kHost, to);
      return static_cast<Holders>(held | holder(kHost) | holder(to));
    }
  }
  copy(straight, to);
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
                       const CostModel& costs, const Transfers& transfers, Flow& flow);

// Of one value between two memories.
inline double crossing_ms(const Flow::Root& root, int from, int to, const Transfers& transfers) {
  if (root.crossing.empty() || (from != kHost && to != kHost)) return transfers.ms(from, to, root.bytes);
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
std::vector<CopyBefore> copies_of(const Flow& flow, const std::vector<Place>& places,
                                  const Transfers& transfers);

}  // namespace walle::search
