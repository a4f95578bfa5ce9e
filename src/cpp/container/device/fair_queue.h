// FairQueue: which task runs next: stride scheduling (Waldspurger and Weihl, 1995). Each task has a pass,
// which grows by the time that it has used over its weight, and the one with the least pass is next. So time
// is shared by weight however unequal firings are, and a task that waits is never overtaken for ever.
//
// Changed from the paper: a firing's length is not known before, hence tasks are charged afterwards by what
// they took; and a task that had nothing to do comes back at the pass of those that run, or it would
// have saved up a time in which it is alone.
//
// Not synchronised. Allocates in reserve() alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace walle::container {

class FairQueue {
 public:
  // What a task is here; lives where the task does.
  struct Member {
    uint64_t pass = 0;
    uint64_t arrived = 0;  // of equals the first
    uint32_t weight = 1;
  };

  // Each step of priority counts twice the one below it.
  static uint32_t weight_of(uint8_t priority) { return 1u << (priority < kSteps ? priority : kSteps - 1); }

  void reserve(size_t members) { heap_.reserve(members); }
  // Precondition: it is not in the queue, and there is room reserved.
  void push(Member& member);
  // nullptr: empty.
  Member* pop();
  // What a member that was popped has used.
  static void charge(Member& member, int64_t us);
  size_t size() const { return heap_.size(); }

 private:
  static constexpr uint8_t kSteps = 10;
  // A pass moves on by at least so much, or firings that take no time would be for ever first.
  static constexpr uint64_t kLeast = 1;

  static bool later(const Member* a, const Member* b) {
    return a->pass != b->pass ? a->pass > b->pass : a->arrived > b->arrived;
  }

  std::vector<Member*> heap_;  // the least pass on top
  uint64_t now_ = 0;           // pass of what was popped last
  uint64_t arrivals_ = 0;
};

}  // namespace walle::container
