// TaskQueue: a task's firings in order of number: those that were taken and are not settled, then those that
// wait.
//
// Bounded: as many may wait as were declared, and as many may be in flight. A firing that folds takes the
// place of the waiting one by leaving it and standing at the end itself, so that numbers stay in order and
// settle(n) means all up to n. Not synchronised.
#pragma once

#include <cstddef>
#include <vector>

#include "stream/processor/task_firing.h"

namespace walle::stream {

class TaskQueue {
 public:
  TaskQueue(uint32_t capacity, WhenFull when_full) : capacity_(capacity), when_full_(when_full) {}

  // Precondition: its number is above all before.
  void push(const TaskFiring& f);
  // A firing of before a restart: it was let in then, and is in flight no longer.
  void restore(const TaskFiring& f) { append(f); }
  bool take(TaskFiring& out);
  // Forgets all up to `number`.
  void settle(uint64_t number);
  // For what comes from now on; more may wait than the new capacity until they are taken.
  void reshape(uint32_t capacity, WhenFull when_full);
  // While it is held nothing is taken.
  void hold(bool held) { held_ = held; }

  uint32_t capacity() const { return capacity_; }
  WhenFull when_full() const { return when_full_; }
  uint64_t settled() const { return settled_; }
  size_t waiting() const { return size_ - in_flight_; }
  size_t in_flight() const { return in_flight_; }
  uint64_t dropped() const { return dropped_; }
  uint64_t coalesced() const { return coalesced_; }
  void count_before(uint64_t dropped, uint64_t coalesced) {  // by a process before
    dropped_ = dropped;
    coalesced_ = coalesced;
  }
  size_t memory_bytes() const { return ring_.capacity() * sizeof(TaskFiring); }
  // In order of number, in flight or not.
  template <class Visit>
  void each(Visit&& visit) const {
    for (size_t i = 0; i < size_; ++i) visit(at(i));
  }
  size_t size() const { return size_; }

 private:
  const TaskFiring& at(size_t i) const { return ring_[wrapped(head_ + i)]; }
  TaskFiring& at(size_t i) { return ring_[wrapped(head_ + i)]; }
  size_t wrapped(size_t i) const { return i < ring_.size() ? i : i - ring_.size(); }
  void append(const TaskFiring& f);
  void erase(size_t i);
  bool fold(TaskFiring& f);

  uint32_t capacity_;
  WhenFull when_full_;
  bool held_ = false;
  std::vector<TaskFiring> ring_;  // doubled as they come: few tasks ever fill their queue
  size_t head_ = 0, size_ = 0, in_flight_ = 0;
  uint64_t settled_ = 0, dropped_ = 0, coalesced_ = 0;
};

}  // namespace walle::stream
