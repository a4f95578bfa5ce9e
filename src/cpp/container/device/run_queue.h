// RunQueue: tasks that have something to do, and workers that wait for one. A task is given to one worker at
// a time, so that its firings run one after another.
//
// Thread-safe. A task may be woken at any time and any number of times; woken while it runs it is queued
// again behind its turn. Invariant: it is in the queue while its state is `queued`, and otherwise only where
// it was borrowed meanwhile; such an entry is passed over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "container/device/fair_queue.h"

namespace walle::container {

class RunQueue {
 public:
  enum class State : uint8_t { idle, queued, running, running_woken };

  // Part of whatever is run.
  struct Member : FairQueue::Member {
    State state = State::idle;
    int64_t woken_us = 0;       // when it was queued
    bool in_queue = false;      // also while it is borrowed
    uint32_t borrowers = 0;     // threads that wait for its turn
    bool after_borrow = false;  // the last turn was one
    int64_t owed_us = 0;        // used by borrowers while it was in the queue, whose order is by what is used
    // Keeps it there while a worker is at it.
    virtual std::shared_ptr<Member> self() = 0;

   protected:
    ~Member() = default;
  };

  // So many members there will be at most.
  void reserve(size_t members);
  void set_weight(Member& member, uint32_t weight);
  // It has something to do.
  void wake(Member& member, int64_t now_us);
  // The next one, for this worker alone until done(). nullptr: closed.
  std::shared_ptr<Member> next();
  // A worker's turn has ended and has taken so long; `more`: the member has something left to do. The worker
  // comes for the next one itself.
  void done(Member& member, int64_t busy_us, int64_t now_us, bool more);
  // The member's turn for the calling thread, which ends it with give_back(): at once where no thread is at
  // it, for a caller brings a thread of its own and needs no worker; else when the turn under way has ended.
  // Where something waits for a worker, borrowed turns and the worker's alternate. False: not within that
  // time, or closed.
  bool borrow(Member& member, std::optional<std::chrono::microseconds> patience);
  void give_back(Member& member, int64_t busy_us, int64_t now_us, bool more);
  // A member that has nothing to do, for the caller alone until release(). False: it has.
  bool claim(Member& member);
  // Of what was claimed, or belonged to a worker that is lost.
  void release(Member& member, int64_t now_us, bool more);
  State state(const Member& member) const;
  // Until no turn is borrowed. False: not by then.
  bool wait_given_back(std::chrono::milliseconds patience);

  // Until no member is queued or running. False: not by then.
  bool wait_idle(int64_t timeout_us);
  // Workers leave as soon as they have no turn.
  void close();
  size_t queued() const;

 private:
  void queue(Member& member, int64_t now_us);
  void end_turn(Member& member, int64_t now_us, bool more);

  mutable std::mutex lock_;
  std::condition_variable work_;  // for workers
  std::condition_variable idle_;
  std::condition_variable turns_;  // for borrowers
  FairQueue queue_;
  size_t running_ = 0;
  size_t borrowed_ = 0;  // of those
  size_t waiting_workers_ = 0;
  bool closed_ = false;
};

}  // namespace walle::container
