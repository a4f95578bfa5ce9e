#include "container/device/keeper.h"

#include <algorithm>
#include <chrono>

#include "base/trace.h"

namespace walle::container {

namespace {
constexpr std::chrono::milliseconds kTick{100};
constexpr int kTicksPerSecond = 10;
// Two seconds of nothing: what was recorded last has been synced by then.
constexpr int kQuietTicks = 20;
constexpr int64_t kLongestSleepUs = int64_t{3600} * 1'000'000;
}  // namespace

Keeper::Keeper(Duties duties) : duties_(std::move(duties)), thread_([this] { run(); }) {}

void Keeper::stop() {
  {
    const std::lock_guard lock(lock_);
    ended_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Keeper::wake() {
  const std::lock_guard lock(lock_);
  asleep_.store(false, std::memory_order_seq_cst);
  wake_.notify_all();
}

void Keeper::run() {
  base::name_trace_thread("device keeper");
  std::unique_lock lock(lock_);
  int quiet = 0;
  for (int tick = 1; !ended_; ++tick) {
    lock.unlock();
    quiet = duties_.watch() ? 0 : quiet + 1;
    if (tick % kTicksPerSecond == 0) duties_.maintain();
    // Whoever pokes behind this line is heard, and what came before it has been seen by watch() or is seen
    // by the next, one tick later.
    const bool sleep = quiet >= kQuietTicks;
    if (sleep) asleep_.store(true, std::memory_order_seq_cst);
    const int64_t us = sleep ? std::clamp(duties_.sleeps_us(), int64_t{0}, kLongestSleepUs) : 0;
    lock.lock();
    if (ended_) break;
    if (!sleep) {
      wake_.wait_for(lock, kTick, [this] { return ended_; });
      continue;
    }
    wake_.wait_for(lock, std::chrono::microseconds(us), [this] { return ended_ || !asleep_.load(); });
    asleep_.store(false, std::memory_order_seq_cst);
    quiet = 0;
  }
}

}  // namespace walle::container
