// What may end a run before it is done: a deadline, a cancel token, or the host (Python, when a signal has
// come in). The run looks between steps, before every round of a body and while it waits for the session; a
// step under way ends first. A run that nobody can end has no RunControl and pays one comparison per step.
//
// A token may be used from any thread and by any number of runs; a RunControl belongs to one run.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace walle::runtime {

// Once cancelled it stays so: a run that begins later with the same token ends at once.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// Asked on the thread of the run, about every kHostPeriod; an error ends the run.
class HostCheck {
 public:
  virtual ~HostCheck() = default;
  virtual Status check() = 0;
};

struct RunOptions {
  std::optional<std::chrono::nanoseconds> timeout;  // counted from the call, waiting for the session included
  const CancelToken* cancel = nullptr;
  HostCheck* host = nullptr;
  // Where results are wanted, in the order of the outputs: memory of the caller, or an undefined tensor for
  // the engine's own. Empty: all in the engine's own.
  std::vector<Tensor> results;
};

class RunControl {
 public:
  using Clock = std::chrono::steady_clock;
  // What a user feels as at once. Asking Python takes its lock: 0.1 us when it is free, up to 5 ms for each
  // thread that computes in Python, so seldom enough that those lose nothing worth measuring.
  static constexpr std::chrono::milliseconds kHostPeriod{50};

  explicit RunControl(const RunOptions& options);
  static bool needed(const RunOptions& options) { return options.timeout || options.cancel || options.host; }

  // Cheap: whether look() has something to do.
  bool due() const {
    if (cancel_ && cancel_->cancelled()) return true;
    if (deadline_) return Clock::now() >= next_;
    return host_ && coarse_ns() >= next_coarse_ns_;
  }
  // Why the run has to end, or nothing.
  Status look();
  Status look_if_due() { return due() ? look() : Status(); }
  // How long the run may wait for something before it looks again.
  std::chrono::nanoseconds patience() const;

 private:
  // Of the last tick (4 ms on most kernels): 5 ns to read where the exact time takes 25.
  static int64_t coarse_ns();
  void plan_next();

  std::optional<Clock::time_point> deadline_;
  double seconds_ = 0;
  const CancelToken* cancel_;
  HostCheck* host_;
  Clock::time_point next_;
  int64_t next_coarse_ns_ = 0;
};

}  // namespace walle::runtime
