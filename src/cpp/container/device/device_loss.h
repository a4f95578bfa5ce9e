// DeviceLoss: something of a device that is gone, whichever of its files had it, until somebody acknowledges
// it (docs/concepts/losses.md).
#pragma once

#include <string_view>

#include "store/segment_manifest.h"

namespace walle::container {

struct DeviceLoss {
  // "events", "rows" (of the table that `loss.owner` names), "sends" (of its stream), "commits", "settled",
  // "tasks", "triggers", "budgets", "accounts" or "kv" (of its task).
  std::string_view what;
  store::Loss loss;  // of its numbers 0 is none
};

}  // namespace walle::container
