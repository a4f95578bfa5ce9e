// Workers: the worker threads of a device, and giving up one that sits in a call which does not end.
//
// Threads are detached: one that is given up may run on for ever, with what it holds. `alive` is what they
// hold: everything their work needs lives at least as long as the last of them. start() and stop() belong to
// one thread; keep_watch() to the maintenance thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "container/device/call_slot.h"
#include "container/device/run_queue.h"
#include "container/device/task_runner.h"

namespace walle::container {

class Workers {
 public:
  explicit Workers(RunQueue& queue) : queue_(queue) {}
  // A resource error where not even one thread can be had.
  Status start(uint32_t count, std::weak_ptr<void> alive);
  // Gives up the workers whose call has passed its time and starts others. Gives how many.
  size_t keep_watch();
  bool any_busy();
  // Until all but those given up have ended; the queue must be closed. False: not by then.
  bool wait_until_left(std::chrono::milliseconds patience);
  size_t count() const;

 private:
  struct Place {
    CallSlot slot;
    std::shared_ptr<TaskRunner> runner;  // of the turn under way; `lock_`
  };
  bool start_one();
  void work(const std::shared_ptr<Place>& place);

  RunQueue& queue_;
  std::weak_ptr<void> alive_;
  mutable std::mutex lock_;
  std::condition_variable left_;
  std::vector<std::shared_ptr<Place>> places_;
};

}  // namespace walle::container
