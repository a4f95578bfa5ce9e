// Attached: those that work on a device with threads of their own - an agent, a tunnel -, so that closing it
// ends them.
//
// Thread-safe. A stop may come twice, at the same time, and after its owner has left: it holds what it needs.
#pragma once

#include <functional>
#include <map>
#include <mutex>

namespace walle::container {

class Attached {
 public:
  using Stop = std::function<void()>;

  // False: the device is being closed, and `stop` will never be called.
  bool join(const void* who, Stop stop) {
    const std::lock_guard guard(lock_);
    if (ended_) return false;
    stops_[who] = std::move(stop);
    return true;
  }
  void leave(const void* who) {
    const std::lock_guard guard(lock_);
    stops_.erase(who);
  }
  // Not under the lock: a stop waits for a thread, which may be about to leave.
  void stop_all() {
    std::map<const void*, Stop> stops;
    {
      const std::lock_guard guard(lock_);
      ended_ = true;
      stops.swap(stops_);
    }
    for (const auto& [_, stop] : stops) stop();
  }

 private:
  std::mutex lock_;
  bool ended_ = false;
  std::map<const void*, Stop> stops_;
};

}  // namespace walle::container
