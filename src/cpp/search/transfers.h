// What copies between the memories of a plan cost, by the memories' numbers: as the devices were measured,
// and by the model's estimate where nobody did.
#pragma once

#include <array>
#include <vector>

#include "search/cost_model.h"
#include "search/plan.h"

namespace walle::search {

inline constexpr int kMaxMemories = 16;  // more than there are kinds of devices in a machine

class Transfers {
 public:
  // Estimates between the host and any memory, and no other ways: for tests and plans of one memory.
  Transfers(const CostModel& costs);
  // Of these memories, the first of them the host's, and the backends that work in them.
  Transfers(const CostModel& costs, const std::vector<const backends::Backend*>& backends,
            const std::vector<PlannedMemory>& memories);

  // Infinity where the only way goes through the host.
  double ms(int from, int to, int64_t bytes) const {
    const backends::Transfer& t = table_[from][to];
    return (t.start + static_cast<double>(bytes) * t.byte) / 1e6;
  }

 private:
  std::array<std::array<backends::Transfer, kMaxMemories>, kMaxMemories> table_;
};

}  // namespace walle::search
