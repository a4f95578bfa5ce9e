// PullTimer: when the next pull is due: at the start, when a newer epoch is heard of, when the last one
// failed, and every twelve hours in any case. Pure arithmetic on the steady clock, which nobody sets.
//
// A header of a reply may come from whoever answers the app, so what it says can cost pulls and no more: an
// epoch that a pull did not bring makes the next such pull wait, twice as long each time. Not synchronised.
#pragma once

#include <cstdint>
#include <random>

namespace walle::link {

struct PullTimes {
  int64_t every_us = int64_t{12} * 3600 * 1'000'000;  // times 0.5 to 1.5, so that devices spread out
  int64_t retry_us = 5'000'000;                       // after a failure, growing to ...
  int64_t most_retry_us = int64_t{3600} * 1'000'000;
  int64_t doubted_us = 10'000'000;  // behind an epoch that was not there
};

// How a pull ended: as it should; with something that waits for a place in a gray release, which is asked for
// again at a steady pace; without a plan, or with something that did not work.
enum class PullEnd : uint8_t { settled, waits, failed };

class PullTimer {
 public:
  PullTimer(uint64_t seed, PullTimes times, int64_t now_us);

  // In a reply's header, or in a message of the tunnel with the seconds over which devices are to spread.
  void heard(uint64_t epoch, int64_t now_us, uint32_t spread_s = 0);
  // Somebody wants a pull that begins from now on.
  void ask(int64_t now_us);
  // A pull begins: what is heard from now on may have come too late for it.
  void begins();
  // A pull ended; `epoch` is that of the plan which holds.
  // `wait_us`: of a pull that waits, what the server asked for at least.
  void pulled(PullEnd end, uint64_t epoch, int64_t now_us, int64_t wait_us = 0);

  int64_t due_us() const { return due_us_; }

 private:
  void settle(PullEnd end, uint64_t epoch, int64_t now_us, int64_t wait_us);
  double random();
  int64_t retry_wait(PullEnd end, int64_t wait_us);

  std::mt19937_64 random_;
  PullTimes times_;
  uint64_t epoch_ = 0;          // that holds
  uint64_t wanted_ = 0;         // the newest that was heard of
  uint64_t wanted_before_ = 0;  // the same, when the last pull began
  bool asked_ = false;          // since the last pull began
  int64_t due_us_;
  int64_t retry_us_ = 0;  // of the last failure
  int64_t doubted_us_ = 0;
  int64_t not_before_us_ = INT64_MIN;  // for what is only heard
};

}  // namespace walle::link
