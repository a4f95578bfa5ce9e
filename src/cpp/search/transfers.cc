#include "search/transfers.h"

#include <algorithm>
#include <limits>

namespace walle::search {

namespace {
using backends::Memory;
using backends::Transfer;

int number_of(const std::vector<PlannedMemory>& memories, std::string_view name) {
  const auto found =
      std::ranges::find(memories, name, [](const PlannedMemory& m) { return m.memory->name(); });
  return found == memories.end() ? -1 : static_cast<int>(found - memories.begin());
}
}  // namespace

Transfers::Transfers(const CostModel& costs) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double start = costs.copy_ms(0) * 1e6;
  constexpr int64_t kMany = 1 << 20;
  const Transfer estimate{.start = start,
                          .byte = (costs.copy_ms(kMany) * 1e6 - start) / static_cast<double>(kMany)};
  for (int from = 0; from < kMaxMemories; ++from)
    for (int to = 0; to < kMaxMemories; ++to)
      table_[from][to] = from == kHost || to == kHost ? estimate : Transfer{.start = kNever, .byte = 0};
}

Transfers::Transfers(const CostModel& costs, const std::vector<const backends::Backend*>& backends,
                     const std::vector<PlannedMemory>& memories)
    : Transfers(costs) {
  const auto count = static_cast<int>(memories.size());
  // A way of which nobody knows the price is one copy where the host's would be two.
  const auto reached = [&](int a, int b) {
    const Memory& one = *memories[a].memory;
    const Memory& other = *memories[b].memory;
    return one.reaches(other) || other.reaches(one);
  };
  for (int a = 1; a < count; ++a)
    for (int b = 1; b < count; ++b)
      if (a != b && reached(a, b)) table_[a][b] = table_[kHost][kHost];
  // Last to first, so that of two that measured one way the one named first counts.
  for (auto b = backends.rbegin(); b != backends.rend(); ++b) {
    const backends::DeviceProfile* device = costs.device((*b)->name());
    const int own = number_of(memories, (*b)->memory().name());
    if (!device || own <= kHost) continue;
    for (const backends::Way& way : device->ways) {
      const int other = number_of(memories, way.memory);
      // A profile comes from a file: what it names may not be there, or not be reached any more.
      if (other < 0 || other == own || (other != kHost && !reached(own, other))) continue;
      table_[other][own] = way.in;
      table_[own][other] = way.out;
    }
  }
}

}  // namespace walle::search
