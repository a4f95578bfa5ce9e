#include "runtime/plan_limits.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

namespace walle::runtime {

namespace {
// How many plans use the bytes of each constant; those of the graphs are everybody's.
class Uses {
 public:
  explicit Uses(const std::vector<KeptPlans*>& all) {
    for (const KeptPlans* plans : all) {
      for (const ir::Value& value : plans->graph().values)
        if (value.constant) uses_[value.constant->buffer().address()].plans = kEverybodys;
      for (const auto& segment : plans->all()) add(*segment);
    }
  }

  bool of_one(const Tensor& t) const {
    const auto found = uses_.find(t.buffer().address());
    return found != uses_.end() && found->second.plans == 1;
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const auto& [data, use] : uses_)
      if (use.plans == 1) sum += use.bytes;
    return sum;
  }

 private:
  static constexpr int kEverybodys = 1 << 20;
  struct Use {
    int plans = 0;
    int64_t bytes = 0;
    const Segment* last = nullptr;
  };

  void add(const Segment& segment) {
    for (const ops::ProgramValue& value : segment.executable->program().values) {
      if (!value.constant) continue;
      Use& use = uses_[value.constant->buffer().address()];
      if (std::exchange(use.last, &segment) != &segment) ++use.plans;
      use.bytes = static_cast<int64_t>(value.constant->buffer().size());
    }
  }

  std::unordered_map<const std::byte*, Use> uses_;
};

int64_t steps_bytes(const Executable& exe) {
  // A step's kernel with what it captured, and its operands; texts and parameters of a choice. With these a
  // plan of bench/shapes is within a tenth of what malloc gives for it: 95 KB of convolutions, 0.9 MB of a
  // decoder.
  constexpr int64_t kKernel = 2560, kChoice = 128;
  const ops::Program& program = exe.program();
  int64_t sum = static_cast<int64_t>(program.values.size() * sizeof(ops::ProgramValue));
  for (const ops::ProgramNode& node : program.nodes) {
    sum += static_cast<int64_t>(sizeof(node));
    if (node.raster) sum += static_cast<int64_t>(node.raster->regions.size() * sizeof(raster::Region));
  }
  for (const search::Step& step : exe.plan().steps)
    sum += static_cast<int64_t>(sizeof(step) + step.losers.size() * (sizeof(search::Choice) + kChoice)) +
           kChoice + kKernel;
  for (const search::PlannedMemory& memory : exe.plan().memories)
    sum += static_cast<int64_t>(memory.storage.size() * sizeof(search::Storage));
  return sum;
}

// What the largest plan needs in it.
int64_t largest(const SharedState& shared, const backends::Memory& memory) {
  int64_t most = 0;
  for (const KeptPlans* plans : shared.plans)
    for (const auto& segment : plans->all())
      for (const search::PlannedMemory& planned : segment->executable->plan().memories)
        if (planned.memory == &memory) most = std::max(most, planned.arena_bytes);
  return most;
}

// Of these graphs, the plan that was asked for longest ago; nullptr: there is none but the newest.
std::pair<KeptPlans*, const Segment*> least_recent(std::span<KeptPlans* const> graphs,
                                                   const Segment& newest) {
  std::pair<KeptPlans*, const Segment*> found{};
  for (KeptPlans* plans : graphs)
    for (const auto& segment : plans->all())
      if (segment.get() != &newest && (!found.second || segment->used < found.second->used))
        found = {plans, segment.get()};
  return found;
}

bool drop_one(std::span<KeptPlans* const> graphs, const Segment& newest, SharedState& shared) {
  const auto [plans, segment] = least_recent(graphs, newest);
  if (!segment) return false;
  plans->drop(*segment);
  shared.made->forget_unused();
  return true;
}
}  // namespace

PlanBytes plan_bytes(const SharedState& shared) {
  const Uses uses(shared.plans);
  PlanBytes out{.constants = uses.bytes(),
                .packed = shared.made->prepared.bytes_of([&](const Tensor& t) { return uses.of_one(t); })};
  std::vector<const backends::Memory*> memories;
  for (const KeptPlans* plans : shared.plans)
    for (const auto& segment : plans->all()) {
      out.steps += steps_bytes(*segment->executable);
      for (const search::PlannedMemory& planned : segment->executable->plan().memories)
        if (std::ranges::find(memories, planned.memory) == memories.end()) memories.push_back(planned.memory);
    }
  for (const backends::Memory* memory : memories) out.arena += largest(shared, *memory);
  return out;
}

void keep_limits(KeptPlans& plans, const Segment& newest, SharedState& shared) {
  bool dropped = false;
  KeptPlans* const own = &plans;
  while (std::ssize(plans.all()) > shared.options.max_plans && drop_one({&own, 1}, newest, shared))
    dropped = true;
  const int64_t most = shared.options.max_plan_bytes;
  while (most > 0 && plan_bytes(shared).total() > most && drop_one(shared.plans, newest, shared))
    dropped = true;
  if (dropped)
    shared.memory.arenas.shrink([&](const backends::Memory& memory) { return largest(shared, memory); });
}

void drop_all_plans(SharedState& shared) {
  for (KeptPlans* plans : shared.plans)
    while (!plans->all().empty()) plans->drop(*plans->all().front());
}

}  // namespace walle::runtime
