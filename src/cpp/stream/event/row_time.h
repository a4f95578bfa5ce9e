// RowTime: when an event happened, for whoever computes over time and can wait for what is late: its own
// time, in the reckoning of the events around it.
#pragma once

#include "stream/event/event.h"

namespace walle::stream {

// Asked of events in their order.
class RowTime {
 public:
  int64_t of(const Event& e) {
    // An event out of time has the newest one's; after a correction of the clock, its own is shifted as
    // theirs.
    if (e.flags & kTimeRepaired) return e.own_ts + shift_;
    shift_ = e.ts - e.own_ts;
    return e.ts;
  }

 private:
  int64_t shift_ = 0;
};

}  // namespace walle::stream
