#include "search/copies.h"

#include <algorithm>
#include <utility>

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
                       const CostModel& costs, const Transfers& transfers, Flow& flow) {
  std::vector<bool> moves(flow.roots.size());
  for (const Flow::Node& node : flow.nodes)
    for (const std::vector<ops::Ref>* values : {&node.reads, &node.makes})
      for (const ops::Ref r : *values) moves[r] = true;
  for (size_t r = 0; r < flow.roots.size(); ++r)
    for (size_t m = 1; moves[r] && m < memories.size(); ++m) {
      const ops::ProgramValue& value = p.values[r];
      const auto work = memories[m].memory->conversion(value.dtype, value.shape, threads);
      if (!work) continue;
      std::vector<Flow::Crossing>& crossing = flow.roots[r].crossing;
      const int64_t bytes = flow.roots[r].bytes;
      for (int other = static_cast<int>(crossing.size()); other < std::ssize(memories); ++other)
        crossing.push_back({transfers.ms(kHost, other, bytes), transfers.ms(other, kHost, bytes)});
      crossing[m] = {costs.ms(*work), costs.ms(*work)};
    }
}

std::vector<CopyBefore> copies_of(const Flow& flow, const std::vector<Place>& places,
                                  const Transfers& transfers) {
  std::vector<Holders> held(flow.roots.size(), 0);
  std::vector<int> maker(flow.roots.size(), -1);
  std::vector<CopyBefore> out;
  // In the order of the readers, in which the placement charged for them.
  const auto bring_to = [&](ops::Ref r, int memory, size_t reader) {
    const Flow::Root& root = flow.root(r);
    const auto ms = [&](int from, int to) { return crossing_ms(root, from, to, transfers); };
    const size_t before = maker[r] < 0 ? reader : static_cast<size_t>(maker[r]) + 1;
    held[r] = bring(held[r], memory, ms, [&](int from, int to) {
      out.push_back({before,
                     {.value = r,
                      .from = from,
                      .to = to,
                      .bytes = root.bytes,
                      .cost_ms = ms(from, to),
                      .maker = maker[r]}});
    });
  };
  for (size_t n = 0; n < flow.nodes.size(); ++n) {
    for (ops::Ref r : flow.nodes[n].reads) {
      // An input counts as held from its first reader on: before that nothing asks.
      if (flow.root(r).given) held[r] |= holder(kHost);
      bring_to(r, places[n].source, n);
    }
    for (ops::Ref r : flow.nodes[n].makes) {
      held[r] = holder(places[n].memory);
      maker[r] = static_cast<int>(n);
      if (flow.root(r).wanted) bring_to(r, kHost, n + 1);  // results are handed out on the host
    }
  }
  // What was made goes first. Stable: a value's copies start from each other.
  std::ranges::stable_sort(out, {}, [](const CopyBefore& c) { return std::pair(c.node, c.copy.maker < 0); });
  return out;
}

}  // namespace walle::search
