// Sequencer: gives an event its place: monotone time, session, page instance. Its whole state can be rebuilt
// from the events, since sessions and page instances are named by the sequence number of their first event,
// and an event whose time was changed keeps its own beside it.
//
// Times never go back, and clocks do. An event older than the newest one is either late, and time stands
// still for it, or the clock was corrected: after two minutes of nothing but earlier times, time runs on
// from where it stood, ahead of the clock by a fixed shift. Pauses between sessions take the shift back.
// A timer event says only that time has passed: it neither begins a session nor keeps one from ending.
#pragma once

#include <algorithm>
#include <array>

#include "stream/event/event.h"

namespace walle::stream {

// Without an event for so long, a session is over: what web analytics count with, too.
inline constexpr int64_t kSessionGapUs = 30 * kMinuteUs;
// A time further ahead of the device's clock is refused: times never go back, so one wrong one would hold all
// later events at its own.
inline constexpr int64_t kMaxAheadUs = kDayUs;
// So much of earlier time makes a correction of a row of earlier events. Long enough for what one sensor or
// page delivers late, short against the windows that triggers have.
inline constexpr int64_t kRebaseAfterUs = 2 * kMinuteUs;

struct SequencerStats {
  uint64_t repaired_times = 0;    // the event's time is not its own: late, or the clock went back
  uint64_t late_events = 0;       // of those: late by the device's clock
  uint64_t rebased_clocks = 0;    // times ran on after the clock had gone back for good
  uint64_t unpaired_pages = 0;    // an exit without an enter
  uint64_t closed_inner = 0;      // pages an outer exit closed with it
  uint64_t overflowed_pages = 0;  // enters beyond 16 nested pages: the outermost was given up
};

// The appender's thread alone. Invariant: the times and the sessions it gives never go down.
class Sequencer {
 public:
  // Fills ts, session, page_instance and flags of an event that will get sequence number `seq`; its ts is the
  // device's time, which own_ts keeps. `late`: whether the device's clock says so; no correction then.
  void place(Event& e, EventKind kind, uint64_t seq, bool late);
  // Follows an event that was placed earlier. Page instances left open by a killed process stay closed.
  void recover(const Event& e, EventKind kind);
  void process_started() { depth_ = 0; }
  // Of events that are not there any more.
  void not_before(int64_t ts) { last_ts_ = std::max(last_ts_, ts); }
  const SequencerStats& stats() const { return stats_; }
  int64_t last_ts() const { return last_ts_; }
  // The newest time in the device's own reckoning.
  int64_t last_own_ts() const { return last_ts_ - shift_; }

 private:
  struct Open {
    uint64_t instance;
    uint16_t page;
  };
  void place_in_time(Event& e, bool late);
  int64_t after_pause(int64_t own) const;
  bool corrected(int64_t own);

  int64_t last_ts_ = INT64_MIN;
  int64_t active_ts_ = INT64_MIN;  // of the newest event that is no timer's
  int64_t shift_ = 0;              // by which time runs ahead of the clock
  // A row of earlier events, unbroken by one in time: own times of its first and newest.
  bool earlier_ = false;
  int64_t earlier_first_ = 0;
  int64_t earlier_last_ = 0;
  uint64_t session_ = 0;
  std::array<Open, kMaxOpenPages> open_{};
  size_t depth_ = 0;
  SequencerStats stats_;
};

}  // namespace walle::stream
