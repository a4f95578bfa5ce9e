// Maintenance: the device's own thread, which gives up workers whose calls do not end, advances time, syncs,
// checkpoints and lets go of the cold.
//
// While there is something to watch it looks ten times a second; when nothing has happened for a while it
// sleeps until time itself has something to do, so that an idle device stays asleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/loop_thread.h"

namespace walle::container {

class Maintenance {
 public:
  struct Duties {
    std::function<bool()> watch;         // ten times a second; whether there is anything to watch
    std::function<void()> maintain;      // once a second while there is something to watch, and once after it
    std::function<int64_t()> sleeps_us;  // how long it may sleep when there is nothing to watch
  };

  explicit Maintenance(Duties duties);
  // Waits for the duty under way; there is no other one.
  void stop() { thread_.stop(); }

  // Something has happened. From any thread; costs a load while the maintenance thread is awake.
  void poke() {
    if (asleep_.load(std::memory_order_seq_cst)) thread_.poke();
  }

 private:
  int64_t step();

  Duties duties_;
  std::atomic<bool> asleep_{false};
  int tick_ = 0, quiet_ = 0;
  base::LoopThread thread_;  // last: it uses all of the above
};

}  // namespace walle::container
