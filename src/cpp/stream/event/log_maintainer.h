// A thread that calls for maintenance of a log, because nothing is synced unless somebody does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace walle::stream {

// Must be destroyed in the process that made it: a child of fork() has no such thread to wait for, and lets
// go of the object instead.
class LogMaintainer {
 public:
  // Calls `work` every `every_us`, and soon after poke().
  LogMaintainer(std::function<void()> work, int64_t every_us);
  // Waits for the work under way.
  ~LogMaintainer();
  LogMaintainer(const LogMaintainer&) = delete;
  LogMaintainer& operator=(const LogMaintainer&) = delete;

  // From any thread; costs one load while an earlier one waits to be heard.
  void poke() {
    if (poked_.exchange(true, std::memory_order_relaxed)) return;
    const std::lock_guard lock(lock_);
    wake_.notify_one();
  }

 private:
  void run();

  std::function<void()> work_;
  int64_t every_us_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::atomic<bool> poked_{false};
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace walle::stream
