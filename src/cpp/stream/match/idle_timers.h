// IdleTimers: triggers that fire when nothing has happened for a time.
//
// Sorted by idle time: since all of them count from the same event, they fall due in this order and one index
// says how many have. Not synchronised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stream/match/tight.h"

namespace walle::stream {

class IdleTimers {
 public:
  bool empty() const { return timers_.empty(); }
  bool any_left() const { return next_ < timers_.size(); }  // that have not fired since the newest event
  // Behind the newest event; precondition: any_left().
  int64_t next_us() const { return timers_[next_].first; }
  // The trigger of that time.
  uint16_t take_next() { return timers_[next_++].second; }

  void add(int64_t idle_us, uint16_t trigger) {
    const std::pair<int64_t, uint16_t> entry{idle_us, trigger};
    const auto at = timers_.insert(std::upper_bound(timers_.begin(), timers_.end(), entry), entry);
    if (static_cast<size_t>(at - timers_.begin()) < next_) ++next_;
  }
  // rewind_to() follows.
  void drop(uint16_t trigger) {
    std::erase_if(timers_, [&](const auto& t) { return t.second == trigger; });
  }
  void rewind() { next_ = 0; }  // an event has come
  // To the first idle time that has not passed when `us` have since the newest event.
  void rewind_to(int64_t us) {
    next_ = 0;
    while (any_left() && next_us() < us) ++next_;
  }
  size_t memory_bytes() const { return tight::bytes(timers_); }

 private:
  std::vector<std::pair<int64_t, uint16_t>> timers_;  // fired ones lie before next_
  size_t next_ = 0;
};

}  // namespace walle::stream
