// The search, step by step: what needs no step, who could run the rest, who shall, what is copied for it, and
// where everything lies.
#include "search/make_plan.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>

#include "backends/host_memory.h"
#include "ops/symbolic.h"
#include "search/arenas.h"
#include "search/placement.h"
#include "search/recall.h"
#include "search/tune.h"

namespace walle::search {

namespace {
using Backends = std::vector<const backends::Backend*>;

const CostModel& costs_of(const SearchOptions& options) {
  return options.costs ? *options.costs : reference_costs();
}

// The nodes that need a step, and their choices.
struct Choices {
  std::vector<int> nodes;
  std::vector<std::vector<Choice>> all;
};

// Whether a backend finds this operand as its kernels expect it: a view of a value that another layout has
// taken apart is no run of its elements any more.
bool finds(const ops::Program& program, const Views& views, const backends::Memory& memory, ops::Ref r) {
  if (r < 0) return true;
  const View& view = views.at(r);
  const ops::ProgramValue& shown = program.at(r);
  const ops::ProgramValue& root = program.at(view.root);
  if (view.offset == 0 && shown.dtype == root.dtype && shown.shape == root.shape) return true;
  return memory.row_major(shown.dtype, shown.shape) && memory.row_major(root.dtype, root.shape);
}

// Nodes that differ from those before, by operator: layers repeat, and backends are asked once for all alike
// nodes, which takes 0.1 ms of 0.28 from a new shape of ResNet-50. The last few of an operator are enough,
// and bound what looking costs.
class Asked {
 public:
  explicit Asked(const ops::Program& program) : program_(program) {}

  // The number under which an alike node was seen; nothing: this is the first, under `number` from now on.
  std::optional<size_t> find(const ops::ProgramNode& node, size_t number) {
    constexpr size_t kLast = 16;
    std::deque<Seen>& seen = seen_[node.op];
    for (const Seen& s : seen)
      if (ops::are_alike(program_, *s.node, program_, node)) return s.number;
    seen.push_front({&node, number});
    if (seen.size() > kLast) seen.pop_back();
    return std::nullopt;
  }

 private:
  struct Seen {
    const ops::ProgramNode* node;
    size_t number;
  };
  const ops::Program& program_;
  std::unordered_map<const ir::OpDef*, std::deque<Seen>> seen_;
};

Result<Choices> find_choices(const ops::Program& program, const Views& views, const Backends& backends,
                             const SearchOptions& options) {
  Choices out;
  Asked asked(program);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (views.skipped[i]) continue;  // it became a view: nothing to run
    const ops::ProgramNode& node = program.nodes[i];
    if (const auto alike = asked.find(node, out.all.size())) {
      out.all.push_back(out.all[*alike]);
    } else {
      WALLE_ASSIGN(std::vector<Choice> choices,
                   choices_for(program, node, backends, options.threads, costs_of(options), options.allowed));
      out.all.push_back(std::move(choices));
    }
    out.nodes.push_back(static_cast<int>(i));
  }
  // What a session hands out is not rounded to be stored.
  const auto hands_out = [&](const ops::ProgramNode& node) {
    return std::ranges::any_of(node.outputs,
                               [&](ops::Ref r) { return r >= 0 && views.home[r] == Home::output; });
  };
  // Where a node's operands lie is its own.
  for (size_t n = 0; n < out.nodes.size(); ++n) {
    std::erase_if(out.all[n], [&](const Choice& c) {
      if (!c.backend->memory().exact() && hands_out(program.nodes[out.nodes[n]])) return true;
      const backends::Memory& memory = c.backend->source();
      return !std::ranges::all_of(program.nodes[out.nodes[n]].inputs,
                                  [&](ops::Ref r) { return finds(program, views, memory, r); });
    });
    if (options.search) drop_references(out.all[n]);
  }
  return out;
}

Status measure_choices(const ops::Program& program, const SearchOptions& options, Choices& choices) {
  Tuner tuner(program, options.threads, options.tune);
  for (size_t n = 0; n < choices.nodes.size(); ++n)
    WALLE_TRY(tuner.measure(program.nodes[choices.nodes[n]], choices.all[n]));
  return {};
}

// What the best choice of each node costs on each backend; infinity: the backend does not run it.
std::vector<std::vector<double>> costs_per_backend(const Choices& choices, const Backends& backends) {
  std::vector<std::vector<double>> out;
  for (const std::vector<Choice>& all : choices.all) {
    std::vector<double>& row = out.emplace_back(backends.size(), std::numeric_limits<double>::infinity());
    for (const Choice& c : all) {
      double& best = row[std::ranges::find(backends, c.backend) - backends.begin()];
      best = std::min({best, c.cost_ms(), std::numeric_limits<double>::max()});
    }
  }
  return out;
}

// Its number in the plan, or the next one.
int number_of(const backends::Memory& memory, const Plan& plan) {
  return static_cast<int>(std::ranges::find(plan.memories, &memory, &PlannedMemory::memory) -
                          plan.memories.begin());
}

// The host's memory first, then every other one once; which of them each backend works in.
Result<std::vector<Place>> find_memories(const Backends& backends, Plan& plan) {
  plan.memories.push_back({.memory = &backends::host_memory()});  // number kHost, whoever else is there
  const auto number = [&](backends::Memory& memory) {
    const int n = number_of(memory, plan);
    if (n == static_cast<int>(plan.memories.size())) plan.memories.push_back({.memory = &memory});
    return n;
  };
  std::vector<Place> places;
  for (const backends::Backend* b : backends) {
    const int memory = number(b->memory());
    places.emplace_back(number(b->source()), memory);
  }
  // Holders has a bit for each.
  if (plan.memories.size() > kMaxMemories)
    return backend_error({plan.memories.size() - 1, " backends with memory of their own"},
                         {"at most ", kMaxMemories - 1}, "session", "name fewer backends");
  return places;
}

// Of each node, which of its choices is taken.
std::vector<size_t> decide(const Choices& choices, const Flow& flow, const Backends& backends,
                           const std::vector<Place>& places, const Transfers& transfers,
                           const SearchOptions& options) {
  std::vector<size_t> taken(choices.nodes.size(), 0);
  // search=False is the oracle of tests: the first choice of the first backend, which is its
  // reference kernel.
  if (!options.search && !options.random_placement) return taken;
  const std::vector<std::vector<double>> costs = costs_per_backend(choices, backends);
  const std::vector<int> placed = options.random_placement ? place_at_random(costs, *options.random_placement)
                                                           : place(costs, flow, places, transfers).backend;
  for (size_t n = 0; n < taken.size(); ++n) {
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < choices.all[n].size(); ++c) {
      const Choice& choice = choices.all[n][c];
      if (choice.backend != backends[placed[n]] || choice.cost_ms() >= lowest) continue;
      lowest = choice.cost_ms();
      taken[n] = c;
      if (!options.search) break;  // the first of the backend
    }
  }
  return taken;
}

// From the end, so that the others keep their numbers: a layout that nothing took costs a run nothing.
void drop_unused_memories(const Choices& choices, const std::vector<size_t>& taken, Plan& plan) {
  const auto used = [&](const backends::Memory* memory) {
    for (size_t n = 0; n < taken.size(); ++n) {
      const backends::Backend& b = *choices.all[n][taken[n]].backend;
      if (&b.memory() == memory || &b.source() == memory) return true;
    }
    return false;
  };
  while (plan.memories.size() > 1 && !used(plan.memories.back().memory)) plan.memories.pop_back();
}

void add_steps(Choices choices, const std::vector<size_t>& taken, const Flow& flow,
               const Transfers& transfers, Plan& plan) {
  std::vector<Place> places;
  for (size_t n = 0; n < taken.size(); ++n) {
    const backends::Backend& b = *choices.all[n][taken[n]].backend;
    places.emplace_back(number_of(b.source(), plan), number_of(b.memory(), plan));
  }
  const std::vector<CopyBefore> copies = copies_of(flow, places, transfers);
  auto copy = copies.begin();
  for (size_t n = 0; n <= taken.size(); ++n) {
    for (; copy != copies.end() && copy->node == n; ++copy) {
      plan.steps.push_back({.copy = copy->copy});
      int& maker = plan.steps.back().copy.maker;
      if (maker >= 0) maker = choices.nodes[maker];  // from the flow's numbers to the program's
    }
    if (n == taken.size()) break;
    // The losers stay with the step, for session.explain().
    Step step{.node = choices.nodes[n], .source = places[n].source, .memory = places[n].memory};
    std::vector<Choice>& all = choices.all[n];
    step.chosen = std::move(all[taken[n]]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(taken[n]));
    step.losers = std::move(all);
    plan.steps.push_back(std::move(step));
  }
  for (const Step& step : plan.steps) plan.predicted_ms += step.cost_ms();
}
}  // namespace

Result<Plan> make_plan(const ops::Program& program, const Backends& backends, const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  Plan plan;
  const Views views = find_views(program);
  plan.aliases = views.aliases;
  WALLE_ASSIGN(const std::vector<Place> places, find_memories(backends, plan));
  WALLE_ASSIGN(Choices choices, find_choices(program, views, backends, options));
  Flow flow = flow_of(program, views);
  const Transfers transfers(costs_of(options), backends, plan.memories);
  price_conversions(program, plan.memories, options.threads, costs_of(options), transfers, flow);
  const auto search = [&]() -> Result<std::vector<size_t>> {
    if (options.tune > 0 && options.search) WALLE_TRY(measure_choices(program, options, choices));
    return decide(choices, flow, backends, places, transfers, options);
  };
  WALLE_ASSIGN(
      const std::vector<size_t> taken,
      options.cache ? recalled(program, backends, options, search, choices.all, plan.source) : search());
  drop_unused_memories(choices, taken, plan);
  add_steps(std::move(choices), taken, flow, transfers, plan);
  WALLE_TRY(plan_arenas(program, views, plan));
  plan.search_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return plan;
}

}  // namespace walle::search
