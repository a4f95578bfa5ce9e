#include "container/device/run_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace walle::container {

void RunQueue::reserve(size_t members) {
  const std::lock_guard lock(lock_);
  queue_.reserve(members);
}

void RunQueue::set_weight(Member& member, uint32_t weight) {
  const std::lock_guard lock(lock_);
  member.weight = weight;
}

void RunQueue::queue(Member& member, int64_t now_us) {
  member.state = State::queued;
  member.woken_us = now_us;
  if (member.in_queue) return;
  member.in_queue = true;
  FairQueue::charge(member, std::exchange(member.owed_us, 0));
  queue_.push(member);
}

void RunQueue::wake(Member& member, int64_t now_us) {
  bool call = false;
  {
    const std::lock_guard lock(lock_);
    if (member.state == State::running) member.state = State::running_woken;
    if (member.state != State::idle) return;
    queue(member, now_us);
    call = waiting_workers_ != 0;
  }
  // Without the lock, which the woken thread takes first; and only where somebody waits: a system call costs
  // as much as the append that came before it.
  if (call) work_.notify_one();
}

std::shared_ptr<RunQueue::Member> RunQueue::next() {
  std::unique_lock lock(lock_);
  for (;;) {
    if (closed_) return nullptr;
    if (FairQueue::Member* found = queue_.pop()) {
      auto& member = static_cast<Member&>(*found);
      member.in_queue = false;
      if (member.state != State::queued) {  // borrowed: behind that turn
        member.state = State::running_woken;
        continue;
      }
      member.state = State::running;
      member.after_borrow = false;
      ++running_;
      return member.self();
    }
    ++waiting_workers_;
    work_.wait(lock);
    --waiting_workers_;
  }
}

bool RunQueue::borrow(Member& member, std::optional<std::chrono::microseconds> patience) {
  std::unique_lock lock(lock_);
  const auto free = [&] {
    return closed_ || member.state == State::idle || (member.state == State::queued && !member.after_borrow);
  };
  bool mine = free();
  if (!mine) {
    ++member.borrowers;
    if (patience)
      mine = turns_.wait_for(lock, *patience, free);
    else
      turns_.wait(lock, free);
    --member.borrowers;
    mine = free();
  }
  if (!mine || closed_) return false;
  member.state = member.state == State::queued ? State::running_woken : State::running;
  member.after_borrow = true;
  ++running_;
  ++borrowed_;
  return true;
}

void RunQueue::give_back(Member& member, int64_t busy_us, int64_t now_us, bool more) {
  {
    const std::lock_guard lock(lock_);
    member.owed_us += busy_us;
    if (--borrowed_ == 0) turns_.notify_all();
  }
  release(member, now_us, more);
}

bool RunQueue::wait_given_back(std::chrono::milliseconds patience) {
  std::unique_lock lock(lock_);
  return turns_.wait_for(lock, patience, [this] { return borrowed_ == 0; });
}

bool RunQueue::claim(Member& member) {
  const std::lock_guard lock(lock_);
  if (member.state != State::idle) return false;
  member.state = State::running;
  ++running_;
  return true;
}

// Under the lock.
void RunQueue::end_turn(Member& member, int64_t now_us, bool more) {
  --running_;
  const bool again = more || member.state == State::running_woken;
  member.state = State::idle;
  if (again) queue(member, now_us);
  if (member.borrowers != 0) turns_.notify_all();
}

void RunQueue::done(Member& member, int64_t busy_us, int64_t now_us, bool more) {
  bool call = false;
  bool quiet = false;
  {
    const std::lock_guard lock(lock_);
    FairQueue::charge(member, busy_us + std::exchange(member.owed_us, 0));
    end_turn(member, now_us, more);
    call = queue_.size() > 1 && waiting_workers_ != 0;
    quiet = running_ == 0 && queue_.size() == 0;
  }
  if (call) work_.notify_one();
  if (quiet) idle_.notify_all();
}

void RunQueue::release(Member& member, int64_t now_us, bool more) {
  bool quiet = false;
  {
    const std::lock_guard lock(lock_);
    end_turn(member, now_us, more);
    quiet = running_ == 0 && queue_.size() == 0;
  }
  work_.notify_one();
  if (quiet) idle_.notify_all();
}

RunQueue::State RunQueue::state(const Member& member) const {
  const std::lock_guard lock(lock_);
  return member.state;
}

bool RunQueue::wait_idle(int64_t timeout_us) {
  std::unique_lock lock(lock_);
  const auto quiet = [this] { return closed_ || (running_ == 0 && queue_.size() == 0); };
  // Beyond a year steady_clock's sum of both might overflow.
  constexpr int64_t kYearUs = int64_t{366} * 86'400'000'000;
  return idle_.wait_for(lock, std::chrono::microseconds(std::min(timeout_us, kYearUs)), quiet);
}

void RunQueue::close() {
  {
    const std::lock_guard lock(lock_);
    closed_ = true;
  }
  work_.notify_all();
  idle_.notify_all();
  turns_.notify_all();
}

size_t RunQueue::queued() const {
  const std::lock_guard lock(lock_);
  return queue_.size();
}

}  // namespace walle::container
