#include "search/copies.h"

#include <algorithm>

namespace walle::search {

namespace {
void add_once(std::vector<ops::Ref>& list, ops::Ref r) {
  if (std::ranges::find(list, r) == list.end()) list.push_back(r);
}
}  // namespace

Flow flow_of(const ops::Program& p, const Views& views) {
  Flow flow;
  flow.roots.resize(p.values.size());
  for (size_t i = 0; i < p.values.size(); ++i) {
    const ops::ProgramValue& value = p.values[i];
    const Home home = views.home[i];
    flow.roots[i] = {.bytes = value.shape.elements() * dtype_size(value.dtype),
                     .given = home == Home::input,
                     .wanted = home == Home::output};
  }
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    if (views.skipped[i]) continue;  // a view lies wherever its root does
    Flow::Node& node = flow.nodes.emplace_back();
    for (ops::Ref r : p.nodes[i].inputs)
      if (r >= 0 && views.home_of(views.at(r).root) != Home::constant) add_once(node.reads, views.at(r).root);
    for (ops::Ref r : p.nodes[i].outputs)
      if (r >= 0) node.makes.push_back(r);
  }
  return flow;
}

void price_conversions(const ops::Program& p, const std::vector<PlannedMemory>& memories, int threads,
                       const CostModel& costs, Flow& flow) {
  for (size_t r = 0; r < flow.roots.size(); ++r)
    for (size_t m = 1; m < memories.size(); ++m) {
      const ops::ProgramValue& value = p.values[r];
      const auto work = memories[m].memory->conversion(value.dtype, value.shape, threads);
      if (!work) continue;
      std::vector<Flow::Crossing>& crossing = flow.roots[r].crossing;
      const double copy = costs.copy_ms(flow.roots[r].bytes);
      if (crossing.empty()) crossing.assign(memories.size(), {copy, copy});
      crossing[m] = {costs.ms(*work), costs.ms(*work)};
    }
}

namespace {
// Per root, the memories in which it is needed at any time.
std::vector<Holders> needs_of(const Flow& flow, const std::vector<Place>& places) {
  std::vector<Holders> needs(flow.roots.size(), 0);
  for (size_t r = 0; r < flow.roots.size(); ++r)
    if (flow.roots[r].wanted) needs[r] = holder(kHost);  // results are handed out on the host
  for (size_t n = 0; n < flow.nodes.size(); ++n)
    for (ops::Ref r : flow.nodes[n].reads) needs[r] |= holder(places[n].source);
  return needs;
}
}  // namespace

std::vector<CopyBefore> copies_of(const Flow& flow, const std::vector<Place>& places,
                                  const CostModel& costs) {
  const std::vector<Holders> needs = needs_of(flow, places);
  std::vector<Holders> held(flow.roots.size(), 0);
  std::vector<CopyBefore> out;
  const auto bring_to = [&](ops::Ref r, int memory, size_t before, int maker) {
    Holders& holders = held[r];
    const int64_t bytes = flow.root(r).bytes;
    holders = bring(holders, memory, [&](int from, int to) {
      out.push_back({before,
                     {.value = r,
                      .from = from,
                      .to = to,
                      .bytes = bytes,
                      .cost_ms = crossing_ms(flow.root(r), from, to, costs),
                      .maker = maker}});
    });
  };
  for (size_t n = 0; n < flow.nodes.size(); ++n) {
    for (ops::Ref r : flow.nodes[n].reads) {
      // An input counts as held from its first reader on: before that nothing asks.
      if (flow.root(r).given) held[r] |= holder(kHost);
      bring_to(r, places[n].source, n, -1);
    }
    for (ops::Ref r : flow.nodes[n].makes) {
      held[r] = holder(places[n].memory);
      // In the order of the memories, so that a copy to the host, which the others start from, comes first.
      for (int m = 0; m < kMaxMemories; ++m)
        if (needs[r] & holder(m)) bring_to(r, m, n + 1, static_cast<int>(n));
    }
  }
  return out;
}

}  // namespace walle::search
