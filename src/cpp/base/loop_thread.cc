#include "base/loop_thread.h"

#include <chrono>

#include "base/fork.h"
#include "base/trace.h"

namespace walle::base {

LoopThread::LoopThread(Work work) : work_(std::move(work)) {
  watch_for_forks();
  process_ = fork_generation();
}

LoopThread::~LoopThread() {
  if (process_ == fork_generation()) {
    stop();
    return;
  }
  static_cast<void>(shared_.release());
}

bool LoopThread::start() {
  const std::lock_guard one(shared_->thread_lock);
  if (shared_->thread.joinable() || stopping()) return false;
  shared_->thread = std::thread([this] { run(); });
  return true;
}

void LoopThread::wake() {
  if (work_.wake) return work_.wake();
  const std::lock_guard lock(shared_->lock);
  shared_->wake.notify_all();
}

bool LoopThread::stop() {
  if (process_ != fork_generation()) return false;
  stopping_.store(true, std::memory_order_release);
  wake();
  if (work_.cut) work_.cut();
  if (runs_on_.load() == std::this_thread::get_id()) return false;
  const std::lock_guard one(shared_->thread_lock);
  if (!shared_->thread.joinable()) return false;
  shared_->thread.join();
  return true;
}

void LoopThread::sleep(int64_t us) {
  if (us <= 0) return;
  if (work_.sleep) return work_.sleep(us);
  std::unique_lock lock(shared_->lock);
  shared_->wake.wait_for(lock, std::chrono::microseconds(us),
                         [this] { return stopping() || poked_.load(std::memory_order_acquire); });
}

void LoopThread::run() {
  runs_on_ = std::this_thread::get_id();
  name_trace_thread(work_.name);
  sleep(work_.first_us);
  while (!stopping()) {
    poked_.exchange(false, std::memory_order_acq_rel);
    // Without a lock: nobody who pokes waits for a step.
    sleep(work_.step());
  }
  if (work_.end) work_.end();
}

}  // namespace walle::base
