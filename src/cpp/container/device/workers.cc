#include "container/device/workers.h"

#include <algorithm>

#include "base/log.h"
#include "base/trace.h"
#include "container/device/clock.h"
#include "vm/thread.h"

namespace walle::container {

namespace {
// As a main thread's: vm/limits.h promises tasks that much.
constexpr size_t kStackBytes = size_t{8} << 20;
}  // namespace

Status Workers::start(uint32_t count, std::weak_ptr<void> alive) {
  alive_ = std::move(alive);
  for (uint32_t i = 0; i < count; ++i) {
    if (start_one()) continue;
    if (i == 0)
      return resource_error("a device without a worker", "one thread at least", "Device, workers",
                            "end threads that are not needed");
    base::log(base::LogLevel::warning, "only " + std::to_string(i) + " of " + std::to_string(count) +
                                           " workers of the device could be started");
    break;
  }
  return {};
}

bool Workers::start_one() {
  auto place = std::make_shared<Place>();
  {
    const std::lock_guard lock(lock_);
    places_.push_back(place);
  }
  const bool started = vm::start_thread(kStackBytes, [alive = alive_.lock(), this, place] { work(place); });
  if (!started) {
    const std::lock_guard lock(lock_);
    std::erase(places_, place);
  }
  return started;
}

void Workers::work(const std::shared_ptr<Place>& place) {
  base::name_trace_thread("device worker");
  while (std::shared_ptr<RunQueue::Member> member = queue_.next()) {
    auto runner = std::static_pointer_cast<TaskRunner>(member);
    {
      const std::lock_guard lock(lock_);
      place->runner = runner;
    }
    const int64_t begin = steady_us();
    const TaskRunner::TurnEnd end = runner->turn(place->slot);
    if (end == TaskRunner::TurnEnd::lost) break;  // keep_watch() has taken the place and the turn
    const int64_t now = steady_us();
    queue_.done(*runner, now - begin, now, end == TaskRunner::TurnEnd::more);
  }
  const std::lock_guard lock(lock_);
  // This thread holds its place a little longer than the device may live, and with it the runner.
  place->runner.reset();
  std::erase(places_, place);
  left_.notify_all();
}

size_t Workers::keep_watch() {
  std::vector<std::shared_ptr<TaskRunner>> lost;
  {
    const std::lock_guard lock(lock_);
    const int64_t now = steady_us();
    std::erase_if(places_, [&](const std::shared_ptr<Place>& place) {
      if (!place->slot.give_up(now)) return false;
      lost.push_back(place->runner);
      return true;
    });
    if (!lost.empty()) left_.notify_all();
  }
  for (const std::shared_ptr<TaskRunner>& runner : lost) {
    runner->lose_worker();
    queue_.release(*runner, steady_us(), true);
    if (!start_one()) base::log(base::LogLevel::warning, "a lost worker could not be replaced: no thread");
  }
  return lost.size();
}

bool Workers::any_busy() {
  const std::lock_guard lock(lock_);
  return std::ranges::any_of(places_, [](const auto& place) { return place->slot.busy(); });
}

bool Workers::wait_until_left(std::chrono::milliseconds patience) {
  std::unique_lock lock(lock_);
  return left_.wait_for(lock, patience, [this] { return places_.empty(); });
}

size_t Workers::count() const {
  const std::lock_guard lock(lock_);
  return places_.size();
}

}  // namespace walle::container
