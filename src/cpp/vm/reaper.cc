#include "vm/reaper.h"

#include "vm/fork.h"
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
  if (is_forked_child()) {
    // Its interpreter belongs to threads that are not here, and its callbacks to their locks.
    static_cast<void>(new std::shared_ptr<void>(std::move(body)));
    return;
  }
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
  if (is_forked_child()) return;
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] { return waiting_.empty() && !working_; });
}

bool Reaper::drain_until(std::chrono::steady_clock::time_point end) {
  if (is_forked_child()) return false;
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
