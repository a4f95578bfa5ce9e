#include "vm/reaper.h"

#include "vm/thread.h"

namespace walle::vm {

namespace {
// As a main thread's: ending an interpreter runs finalisers of any depth.
constexpr size_t kStack = size_t{8} << 20;
// Some 10 ms of work, and memory of as many isolates. Who drops them faster than they end waits for his own.
constexpr size_t kMaxWaiting = 16;
}  // namespace

Reaper& Reaper::instance() {
  static auto* reaper = new Reaper();
  return *reaper;
}

void Reaper::bury(std::shared_ptr<void> body) {
  {
    const std::lock_guard guard(lock_);
    if (!started_) started_ = start_thread(kStack, [this] { run(); });
    if (started_ && waiting_.size() < kMaxWaiting) {
      waiting_.push_back(std::move(body));
      changed_.notify_all();
      return;
    }
  }
  body.reset();
}

void Reaper::drain() {
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] { return waiting_.empty() && !working_; });
}

bool Reaper::drain_until(std::chrono::steady_clock::time_point end) {
  std::unique_lock guard(lock_);
  return changed_.wait_until(guard, end, [this] { return waiting_.empty() && !working_; });
}

void Reaper::run() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait(guard, [this] { return !waiting_.empty(); });
    std::shared_ptr<void> body = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    guard.unlock();
    body.reset();
    guard.lock();
    working_ = false;
    changed_.notify_all();
  }
}

}  // namespace walle::vm
