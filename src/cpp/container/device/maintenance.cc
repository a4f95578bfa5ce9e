#include "container/device/maintenance.h"

#include <algorithm>

namespace walle::container {

namespace {
constexpr int64_t kTickUs = 100'000;
constexpr int kTicksPerSecond = 10;
// Two seconds of nothing: what was recorded last has been synced by then.
constexpr int kQuietTicks = 20;
constexpr int64_t kLongestSleepUs = int64_t{3600} * 1'000'000;
}  // namespace

Maintenance::Maintenance(Duties duties)
    : duties_(std::move(duties)), thread_({.name = "device maintenance", .step = [this] { return step(); }}) {
  thread_.start();
}

int64_t Maintenance::step() {
  if (asleep_.exchange(false, std::memory_order_seq_cst)) quiet_ = 0;
  quiet_ = duties_.watch() ? 0 : quiet_ + 1;
  if (++tick_ % kTicksPerSecond == 0) duties_.maintain();
  if (quiet_ < kQuietTicks) return kTickUs;
  // Whoever pokes behind this line is heard, and what came before it has been seen by watch() or is seen by
  // the next, one tick later.
  asleep_.store(true, std::memory_order_seq_cst);
  return std::clamp(duties_.sleeps_us(), int64_t{1}, kLongestSleepUs);
}

}  // namespace walle::container
