// LoopThread: a thread that does one step again and again, and sleeps between for as long as each step says.
//
// poke(), stop() and stopping() are for any thread, at the same time and again. stop() waits for the step
// under way, but where the step itself calls it: then the thread ends behind the step. It belongs to the
// process that made it: a child of fork() has no such thread, and its copy stops nothing and waits for
// nobody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace walle::base {

class LoopThread {
 public:
  struct Work {
    std::string name;                         // in recordings
    std::function<int64_t()> step;            // for how many us it may sleep then
    int64_t first_us = 0;                     // ... and before the first one
    std::function<void(int64_t)> sleep = {};  // how; none: until the time is over, poke() or stop()
    std::function<void()> wake = {};          // ends such a sleep, also the next one where none is under way
    std::function<void()> cut = {};           // by stop(): ends a step under way early, from another thread
    std::function<void()> end = {};           // in the thread, behind the last step
  };

  explicit LoopThread(Work work);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // False where it was started or stopped before.
  bool start();
  // The next step comes at once, and sees what was done before this call. Costs an exchange while an earlier
  // poke waits to be heard.
  void poke() {
    if (!poked_.exchange(true, std::memory_order_acq_rel)) wake();
  }
  // Whether the thread has ended by this very call.
  bool stop();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

 private:
  void wake();
  void run();
  void sleep(int64_t us);

  // What a child of fork() must not destroy: its condition would wait for a sleeper that is not there.
  struct Shared {
    std::mutex lock;
    std::condition_variable wake;
    std::mutex thread_lock;  // of starting and joining
    std::thread thread;
  };

  Work work_;
  uint64_t process_;
  std::atomic<bool> poked_{false}, stopping_{false};
  std::atomic<std::thread::id> runs_on_{};
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

}  // namespace walle::base
