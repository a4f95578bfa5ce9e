#include "search/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

namespace walle::search {

Result<std::vector<Choice>> choices_for(const ops::Program& program, const ops::ProgramNode& node,
                                        const std::vector<const backends::Backend*>& backends, int threads,
                                        const CostModel& costs, const Allowed& allowed) {
  std::vector<Choice> out;
  const backends::NodeView view(program, node);
  for (const backends::Backend* b : backends) {
    if (!b->supports(view)) continue;
    for (backends::Candidate& c : b->candidates(view, threads))
      if (allowed.has(c)) {
        const double ms = costs.ms(c.features, b->name());
        out.push_back({b, std::move(c), ms});
      }
  }
  if (!out.empty()) return out;
  // What nobody runs is mostly a matter of dtypes: the message shows them all.
  std::string operands;
  for (int i = 0; i < view.input_count(); ++i)
    if (view.has(i))
      operands +=
          (operands.empty() ? "" : ", ") + std::string(dtype_name(view.dtype(i))) + view.shape(i).text();
  bool complex = false;
  for (int i = 0; i < view.input_count(); ++i) complex |= view.has(i) && tensor::is_complex(view.dtype(i));
  return backend_error({node.op->name, "(", operands, ")"},
                       complex
                           ? "of complex numbers what moves them: Transpose, Slice, Concat, Gather, Where ..."
                           : "an operator and dtypes that a selected backend runs",
                       {"node '", node.origin.text(), "'"},
                       complex ? "compute with real and imaginary parts as tensors of their own"
                               : "cast the inputs to float32 or choose another backend");
}

void drop_references(std::vector<Choice>& choices) {
  std::vector<const backends::Backend*> able;
  for (const Choice& c : choices)
    if (!c.candidate.reference) able.push_back(c.backend);
  std::erase_if(choices, [&](const Choice& c) {
    return c.candidate.reference && std::ranges::find(able, c.backend) != able.end();
  });
}

namespace {
// Who holds each living value, in the order of Walk::living_.
using Held = std::vector<Holders>;

// The cheapest way to come to some Held.
struct State {
  double cost_ms = 0;
  int from = 0;     // the state of the step before that it continues
  int backend = 0;  // of the node that led here
};

class Walk {
 public:
  Walk(const std::vector<std::vector<double>>& costs, const Flow& flow, const std::vector<Place>& places,
       const Transfers& transfers)
      : costs_(costs), flow_(flow), places_(places), transfers_(transfers), last_read_(flow.roots.size(), 0) {
    for (size_t n = 0; n < flow.nodes.size(); ++n)
      for (ops::Ref r : flow.nodes[n].reads) last_read_[r] = n;
  }

  // Forward over the nodes, keeping the cheapest way to every state; then back along the best one's `from`.
  Placement run() {
    now_ = {{Held{}, State{}}};
    for (size_t n = 0; n < flow_.nodes.size(); ++n) step(n);
    const auto best = std::ranges::min_element(now_, {}, [](const auto& s) { return s.second.cost_ms; });
    Placement out{std::vector<int>(flow_.nodes.size()), best->second.cost_ms};
    auto index = static_cast<int>(best - now_.begin());
    for (size_t n = flow_.nodes.size(); n > 0; --n) {
      const State& s = past_[n - 1][index];
      out.backend[n - 1] = s.backend;
      index = s.from;
    }
    return out;
  }

 private:
  size_t position(ops::Ref r) const {
    return std::ranges::find(living_, r) - living_.begin();  // a walk: few values live at once
  }

  void step(size_t n) {
    const Flow::Node& node = flow_.nodes[n];
    // An input comes to life with its first reader: earlier it would only make all states longer.
    for (ops::Ref r : node.reads)
      if (flow_.root(r).given && position(r) == living_.size()) {
        living_.push_back(r);
        for (auto& [held, state] : now_) held.push_back(holder(kHost));
      }
    std::vector<size_t> reads;
    for (ops::Ref r : node.reads) reads.push_back(position(r));
    const std::vector<size_t> staying = bury(n);
    std::map<Held, State> next;
    for (size_t s = 0; s < now_.size(); ++s)
      for (size_t b = 0; b < places_.size(); ++b) {
        if (costs_[n][b] == std::numeric_limits<double>::infinity()) continue;  // it does not run the node
        auto [held, cost] = continued(now_[s].first, n, reads, staying, places_[b]);
        const State state{.cost_ms = now_[s].second.cost_ms + costs_[n][b] + cost,
                          .from = static_cast<int>(s),
                          .backend = static_cast<int>(b)};
        // On a tie the one found first stays, so that equal costs choose the backend named first.
        const auto [known, fresh] = next.emplace(std::move(held), state);
        if (!fresh && state.cost_ms < known->second.cost_ms) known->second = state;
      }
    keep_cheapest(std::move(next));
  }

  // Takes out of living_ what nobody reads after node n and adds what it makes for later readers; the
  // positions that stay.
  std::vector<size_t> bury(size_t n) {
    std::vector<size_t> staying;
    std::vector<ops::Ref> living;
    for (size_t i = 0; i < living_.size(); ++i)
      if (last_read_[living_[i]] > n) {
        staying.push_back(i);
        living.push_back(living_[i]);
      }
    for (ops::Ref r : flow_.nodes[n].makes)
      if (last_read_[r] > n) living.push_back(r);
    living_ = std::move(living);
    return staying;
  }

  // Who holds what after node n ran in `place`, and what the copies for it cost.
  std::pair<Held, double> continued(Held held, size_t n, const std::vector<size_t>& reads,
                                    const std::vector<size_t>& staying, Place place) const {
    const Flow::Node& node = flow_.nodes[n];
    double cost = 0;
    const auto bring_to = [&](ops::Ref r, Holders holders, int memory) {
      const auto ms = [&](int from, int to) { return crossing_ms(flow_.root(r), from, to, transfers_); };
      return bring(holders, memory, ms, [&](int from, int to) { cost += ms(from, to); });
    };
    for (size_t i = 0; i < reads.size(); ++i)
      held[reads[i]] = bring_to(node.reads[i], held[reads[i]], place.source);
    for (size_t i = 0; i < staying.size(); ++i) held[i] = held[staying[i]];
    held.resize(staying.size());
    for (ops::Ref r : node.makes) {
      Holders holders = holder(place.memory);
      if (flow_.root(r).wanted) holders = bring_to(r, holders, kHost);
      if (last_read_[r] > n) held.push_back(holders);
    }
    return {std::move(held), cost};
  }

  void keep_cheapest(std::map<Held, State> next) {
    // In the map's order, which depends on nothing but the states: placements are the same on every run.
    now_.assign(std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    if (now_.size() > kKeptStates) {  // stable: a tie is cut the same way on every run
      std::ranges::stable_sort(now_, {}, [](const auto& s) { return s.second.cost_ms; });
      now_.resize(kKeptStates);
    }
    std::vector<State>& past = past_.emplace_back();
    for (const auto& [held, state] : now_) past.push_back(state);
  }

  const std::vector<std::vector<double>>& costs_;
  const Flow& flow_;
  const std::vector<Place>& places_;
  const Transfers& transfers_;
  std::vector<size_t> last_read_;  // per root, the last node that reads it
  std::vector<ops::Ref> living_;   // made or first read before, read again later
  std::vector<std::pair<Held, State>> now_;
  std::vector<std::vector<State>> past_;  // of each node, the states after it
};

// Within one memory nothing is copied, so every node stands alone.
Placement each_cheapest(const std::vector<std::vector<double>>& costs) {
  Placement out;
  for (const std::vector<double>& row : costs) {
    const auto best = std::ranges::min_element(row);
    out.backend.push_back(static_cast<int>(best - row.begin()));
    out.cost_ms += *best;
  }
  return out;
}
}  // namespace

Placement place(const std::vector<std::vector<double>>& costs, const Flow& flow,
                const std::vector<Place>& places, const Transfers& transfers) {
  // The usual case, one backend on the host, is a minimum per node.
  const auto on_host = [](Place p) { return p.source == kHost && p.memory == kHost; };
  if (std::ranges::all_of(places, on_host)) return each_cheapest(costs);
  return Walk(costs, flow, places, transfers).run();
}

std::vector<int> place_at_random(const std::vector<std::vector<double>>& costs, uint64_t seed) {
  // The remainder and no std::uniform_int_distribution, which differs between standard libraries: a seed that
  // found a fault must find it everywhere.
  std::mt19937_64 rng(seed);
  std::vector<int> out;
  for (const std::vector<double>& row : costs) {
    std::vector<int> able;
    for (size_t b = 0; b < row.size(); ++b)
      if (row[b] < std::numeric_limits<double>::infinity()) able.push_back(static_cast<int>(b));
    out.push_back(able[rng() % able.size()]);
  }
  return out;
}

}  // namespace walle::search
