// Watchdog: stops calls that outlive their wall-clock or processor limit: one thread for all isolates,
// asleep until the earliest deadline. Arming costs one atomic store, plus a wake-up only when the new
// deadline is the earliest.
//
// It also nudges the calls whose thread has somebody to attend to, so that their isolates ask. While there
// are such calls, and for a moment after the last, it ticks; then it sleeps again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <vector>

#include "vm/abi.h"

namespace walle::vm {

// One isolate's place in the watchdog. Written by the thread that calls, read by the watchdog.
class Watched {
 public:
  Watched(const wvm_api& api, wvm_isolate* isolate) : api_(api), isolate_(isolate) {}

 private:
  friend class Watchdog;
  const wvm_api& api_;
  wvm_isolate* isolate_;
  std::atomic<int64_t> deadline_{0};      // 0: not armed; negative: the watchdog is stopping this very call
  std::atomic<int64_t> cpu_deadline_{0};  // on the thread's own clock; 0: none
  std::atomic<clockid_t> cpu_clock_{};
  std::atomic<int64_t> wall_deadline_{0};
  std::atomic<bool> attended_{false};
};

class Watchdog {
 public:
  static Watchdog& instance();  // never destroyed: isolates of static lifetime may outlive any other order

  void add(Watched* watched);
  void remove(Watched* watched);
  // The calling thread is about to run the isolate. Zero: no such limit; both zero: not armed.
  void arm(Watched& watched, uint32_t wall_ms, uint32_t cpu_ms);
  void disarm(Watched& watched);
  // The call that begins now is nudged every tenth of a second, until it ends. Both are paid by every call on
  // Python's main thread: two plain stores and a load, as long as the watchdog ticks.
  static void attend(Watched& watched) {
    watched.attended_.store(true, std::memory_order_relaxed);
    // In this order for whoever looks at this thread; tick() says what makes the order of others not matter.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (ticking_.load(std::memory_order_relaxed) != Ticking::yes) [[unlikely]]
      instance().start_ticking();
  }
  static void unattend(Watched& watched) { watched.attended_.store(false, std::memory_order_relaxed); }

 private:
  // ending: callers are told that it does not tick; a last look follows a tick later.
  enum class Ticking : uint8_t { no, yes, ending };

  Watchdog() = default;
  void run();
  int64_t look_at(Watched& watched, int64_t now);
  int64_t stop(Watched& watched, int64_t armed, int reason, int64_t now);
  int64_t tick(int64_t now);
  bool nudge_attended();
  void start_ticking();

  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<Watched*> watched_;
  std::atomic<int64_t> next_{INT64_MAX};
  // The one watchdog's, apart from it: to find it, every call would ask whether it has been made.
  static inline std::atomic<Ticking> ticking_{Ticking::no};
  int64_t next_tick_ = 0;
  int64_t quiet_at_ = 0;
  bool started_ = false;
};

}  // namespace walle::vm
