#include "search/refit.h"

#include <algorithm>
#include <bit>

#include "backends/host_memory.h"
#include "base/checked.h"
#include "search/placement.h"

namespace walle::search {

namespace {
bool in_host_memory(const Choice& choice) {
  return &choice.backend->memory() == &backends::host_memory() &&
         &choice.backend->source() == &backends::host_memory();
}
}  // namespace

bool stays_in_host_memory(const Plan& plan) {
  return plan.memories.size() == 1 && std::ranges::all_of(plan.steps, [](const Step& step) {
           return in_host_memory(step.chosen) && std::ranges::none_of(step.losers, [&](const Choice& c) {
                    return !in_host_memory(c) && c.cost_ms() < step.chosen.cost_ms();
                  });
         });
}

bool same_steps(const Plan& a, const Plan& b) {
  return std::ranges::equal(a.memories, b.memories, {}, &PlannedMemory::memory, &PlannedMemory::memory) &&
         std::ranges::equal(a.steps, b.steps, [](const Step& x, const Step& y) {
           return x.node == y.node && x.source == y.source && x.memory == y.memory &&
                  x.chosen.backend == y.chosen.backend && x.copy.value == y.copy.value &&
                  x.copy.from == y.copy.from && x.copy.to == y.copy.to;
         });
}

int64_t with_room(int64_t bytes) {
  constexpr int64_t kParts = 4;
  const auto step =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max(bytes, kParts)))) / kParts;
  return base::round_up(bytes, step);
}

Result<std::optional<Choice>> choice_in_host_memory(const ops::Program& program, const ops::ProgramNode& node,
                                                    const std::vector<const backends::Backend*>& backends,
                                                    const SearchOptions& options) {
  const CostModel& costs = options.costs ? *options.costs : reference_costs();
  WALLE_ASSIGN(std::vector<Choice> choices,
               choices_for(program, node, backends, options.threads, costs, options.allowed));
  // The first of the cheapest, as make_plan() has it.
  if (options.search) {
    drop_references(choices);
    std::swap(choices[0], *std::ranges::min_element(choices, {}, &Choice::cost_ms));
  }
  return in_host_memory(choices[0]) ? std::optional(std::move(choices[0])) : std::nullopt;
}

}  // namespace walle::search
