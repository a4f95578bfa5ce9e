// TimerHeap: deadlines of armed absences and of triggers with a period, the earliest first.
//
// A heap instead of a hierarchical wheel: there is at most one entry per timer trigger or armed absence, an
// event pays one comparison with the earliest deadline, and equal deadlines fire in one fixed order, which
// replay needs. Not synchronised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "stream/match/tight.h"

namespace walle::stream {

struct Timer {
  int64_t deadline;
  uint32_t order;  // of adding its trigger
  uint32_t tie;  // of several keys with one deadline: from the key, since rows are other ones after a restart
  uint32_t partition;  // kNoPartition for a timer trigger
  uint16_t trigger;
  friend bool operator>(const Timer& a, const Timer& b) {
    return std::tie(a.deadline, a.order, a.tie, a.partition) >
           std::tie(b.deadline, b.order, b.tie, b.partition);
  }
};

class TimerHeap {
 public:
  bool empty() const { return timers_.empty(); }
  const Timer& earliest() const { return timers_[0]; }  // precondition: not empty
  const std::vector<Timer>& all() const { return timers_; }

  void push(const Timer& t) {
    timers_.push_back(t);
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  }
  Timer pop() {
    const Timer t = timers_[0];
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    timers_.pop_back();
    return t;
  }
  void drop(uint16_t trigger) {
    std::erase_if(timers_, [&](const Timer& t) { return t.trigger == trigger; });
    // Linear, like the erasing before it; dropping happens when a task is removed.
    std::make_heap(timers_.begin(), timers_.end(), std::greater<>());
  }
  void clear() { timers_.clear(); }

  // The orders of adding have become others, order_of(trigger), and are in the same order.
  template <class OrderOf>
  void renumber(const OrderOf& order_of) {
    for (Timer& t : timers_) t.order = order_of(t.trigger);
  }

  // So that an event, which arms absences and pushes periods, allocates nothing for as many as may wait.
  void reserve(size_t needed) {
    if (timers_.capacity() < needed) timers_.reserve(with_spare(needed));
  }
  size_t memory_bytes() const { return tight::bytes(timers_); }
  // What memory_bytes() may be behind reserve(needed).
  size_t memory_bytes_at_most(size_t needed) const {
    return std::max(timers_.capacity(), with_spare(needed)) * sizeof(Timer);
  }

 private:
  // Beyond what is needed now, so that not every trigger added grows the heap.
  static constexpr size_t kSpare = 16;
  static size_t with_spare(size_t needed) { return needed + needed / 4 + kSpare; }

  std::vector<Timer> timers_;
};

}  // namespace walle::stream
