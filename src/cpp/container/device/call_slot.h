// CallSlot: a worker's call, seen from two sides: the worker runs calls of a task that may never end, and the
// maintenance thread (maintenance.h) gives a worker up whose call has passed its time.
//
// Between enter() and leave() the task is the call's; if the maintenance thread has given the worker up
// meanwhile it is the maintenance thread's, leave() says so, and the worker touches nothing of it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace walle::container {

class CallSlot {
 public:
  // Worker. The call is given up behind `end_us` of the steady clock; 0: never.
  void enter(int64_t end_us) {
    const std::lock_guard lock(lock_);
    in_call_ = true;
    end_us_ = end_us;
  }
  // Worker. False: given up; it lets go of what it holds and ends.
  [[nodiscard]] bool leave() {
    const std::lock_guard lock(lock_);
    in_call_ = false;
    return !lost_;
  }
  // Maintenance. True, once, for a call that has passed its time: the task is the maintenance thread's.
  bool give_up(int64_t now_us) {
    const std::lock_guard lock(lock_);
    if (lost_ || !in_call_ || end_us_ == 0 || now_us < end_us_) return false;
    return lost_ = true;
  }
  bool busy() {
    const std::lock_guard lock(lock_);
    return in_call_ && !lost_;
  }

 private:
  std::mutex lock_;
  int64_t end_us_ = 0;
  bool in_call_ = false, lost_ = false;
};

}  // namespace walle::container
