// Gives an event its place: monotone time, session, page instance. Its whole state can be rebuilt from the
// events, since sessions and page instances are named by the sequence number of their first event.
#pragma once

#include <array>

#include "stream/event/event.h"

namespace walle::stream {

// Without an event for so long, a session is over: what web analytics count with, too.
inline constexpr int64_t kSessionGapUs = 30 * kMinuteUs;
// A time further ahead of the device's clock is refused: times never go back, so one wrong one would hold all
// later events at its own.
inline constexpr int64_t kMaxAheadUs = kDayUs;

struct SequencerStats {
  uint64_t repaired_times = 0;    // the clock went back: the event keeps the time of the one before it
  uint64_t unpaired_pages = 0;    // an exit without an enter
  uint64_t closed_inner = 0;      // pages an outer exit closed with it
  uint64_t overflowed_pages = 0;  // enters beyond 16 nested pages: the outermost was given up
};

// The appender's thread alone. Invariant: the times and the sessions it gives never go down.
class Sequencer {
 public:
  // Fills ts, session, page_instance and flags of an event that will get sequence number `seq`.
  void place(Event& e, EventKind kind, uint64_t seq);
  // Follows an event that was placed earlier. Page instances left open by a killed process stay closed.
  void recover(const Event& e);
  void process_started() { depth_ = 0; }
  const SequencerStats& stats() const { return stats_; }
  int64_t last_ts() const { return last_ts_; }

 private:
  struct Open {
    uint64_t instance;
    uint16_t page;
  };
  int64_t last_ts_ = INT64_MIN;
  uint64_t session_ = 0;
  std::array<Open, kMaxOpenPages> open_{};
  size_t depth_ = 0;
  SequencerStats stats_;
};

}  // namespace walle::stream
