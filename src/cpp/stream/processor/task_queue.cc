#include "stream/processor/task_queue.h"

#include <algorithm>

namespace walle::stream {

namespace {
constexpr size_t kFirstRoom = 16;
}

void TaskQueue::append(const TaskFiring& f) {
  if (size_ == ring_.size()) {
    std::vector<TaskFiring> wider(std::max(kFirstRoom, ring_.size() * 2));
    for (size_t i = 0; i < size_; ++i) wider[i] = at(i);
    ring_ = std::move(wider);
    head_ = 0;
  }
  at(size_++) = f;
}

void TaskQueue::erase(size_t i) {
  for (; i + 1 < size_; ++i) at(i) = at(i + 1);
  --size_;
}

// The newest waiting one of its trigger leaves, and `f` stands for it, too.
bool TaskQueue::fold(TaskFiring& f) {
  for (size_t i = size_; i-- > in_flight_;) {
    // Names are interned: equal ones are one.
    if (at(i).trigger_name.data() != f.trigger_name.data()) continue;
    f.coalesced += at(i).coalesced + 1;
    ++coalesced_;
    erase(i);
    return true;
  }
  return false;
}

void TaskQueue::push(const TaskFiring& given) {
  if (given.number <= settled_) return;  // matched again after a restart
  TaskFiring f = given;
  if (waiting() >= capacity_) {
    if (when_full_ == WhenFull::drop_new) {
      ++dropped_;
      return;
    }
    // One for one: where a restart or a smaller capacity left more, they stay until they are taken.
    if (when_full_ == WhenFull::drop_oldest || !fold(f)) {
      erase(in_flight_);
      ++dropped_;
    }
  }
  append(f);
}

bool TaskQueue::take(TaskFiring& out) {
  if (held_ || waiting() == 0 || in_flight_ >= capacity_) return false;
  out = at(in_flight_++);
  return true;
}

void TaskQueue::settle(uint64_t number) {
  settled_ = std::max(settled_, number);
  while (size_ > 0 && at(0).number <= settled_) {
    head_ = wrapped(head_ + 1);
    --size_;
    in_flight_ -= in_flight_ > 0;
  }
}

void TaskQueue::reshape(uint32_t capacity, WhenFull when_full) {
  capacity_ = capacity;
  when_full_ = when_full;
}

}  // namespace walle::stream
