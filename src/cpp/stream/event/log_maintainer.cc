#include "stream/event/log_maintainer.h"

#include <chrono>

namespace walle::stream {

LogMaintainer::LogMaintainer(std::function<void()> work, int64_t every_us)
    : work_(std::move(work)), every_us_(every_us), thread_([this] { run(); }) {}

LogMaintainer::~LogMaintainer() {
  {
    const std::lock_guard lock(lock_);
    ended_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void LogMaintainer::run() {
  std::unique_lock lock(lock_);
  while (!ended_) {
    wake_.wait_for(lock, std::chrono::microseconds(every_us_),
                   [&] { return ended_ || poked_.load(std::memory_order_relaxed); });
    if (ended_) return;
    poked_.store(false, std::memory_order_relaxed);
    // Without the lock: poke() must never wait for a disk.
    lock.unlock();
    work_();
    lock.lock();
  }
}

}  // namespace walle::stream
