// Firing: what a completed trigger leaves: a record with a key that is the same in every replay, handed to a
// sink or kept in a bounded queue.
#pragma once

#include <cstdint>
#include <vector>

#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

// An event of a match. Matching knows it by its time and its place among the events of that microsecond, as
// numbered by MatchClock: a slot of the trie has no room for the event's number.
struct EventPlace {
  static constexpr uint16_t kNowhere = 0xffff;
  int64_t ts = 0;           // us
  uint16_t nth = kNowhere;  // kNowhere: a timer's, which no event began
  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};

struct Firing {
  uint16_t trigger = 0;
  uint16_t start_nth = EventPlace::kNowhere;  // with start_ts: the match's first event
  uint32_t coalesced = 0;                     // further firings folded into this one while the queue was full
  uint64_t seq = 0;                           // the event that completed it; for timers the last event before
  int64_t ts = 0;                             // event time, us
  int64_t start_ts = 0;                       // of the latest match: its first event
  EventPlace last;                            // its last event, behind which a trailing absence waited
  // Hash of trigger text, seq, ts and what the scope matched in: equal for equal firings of any replay.
  uint64_t idempotency = 0;
};

// Where a match lay.
struct MatchPlace {
  Scope scope = Scope::device;
  uint64_t key = 0;  // of scope session the session's number + 1, of scope page the page instance
};

// Gets every firing of a step while the step runs: none is lost, whatever their number.
class FiringSink {
 public:
  virtual ~FiringSink() = default;
  virtual void fired(const Firing& firing, const MatchPlace& place) = 0;
};

// For firings that wait until someone asks for them. Allocated at the first and never grown. When full, a
// firing folds into the newest waiting one of its trigger; if there is none, the oldest firing is dropped and
// counted. One thread pushes and pops: the matcher's.
class FiringQueue : public FiringSink {
 public:
  explicit FiringQueue(size_t capacity) : capacity_(capacity ? capacity : 1) {}

  void fired(const Firing& f, const MatchPlace&) override { push(f); }
  // Makes room now, so that no step has to.
  void reserve() {
    if (ring_.empty()) ring_.resize(capacity_);
  }
  void push(const Firing& f) {
    reserve();
    if (size_ == ring_.size()) {
      // Newest first: a trigger that floods the queue is found at once, and the fold keeps the order of the
      // others. Only a full queue pays the search.
      for (size_t i = size_; i-- > 0;) {
        Firing& waiting = ring_[wrapped(head_ + i)];
        if (waiting.trigger != f.trigger) continue;
        const uint32_t n = waiting.coalesced + 1;
        waiting = f;
        waiting.coalesced = n;
        ++coalesced_;
        return;
      }
      head_ = wrapped(head_ + 1);
      --size_;
      ++dropped_;
    }
    ring_[wrapped(head_ + size_++)] = f;
  }
  bool pop(Firing& out) {
    if (!size_) return false;
    out = ring_[head_];
    head_ = wrapped(head_ + 1);
    --size_;
    return true;
  }
  void clear() { head_ = size_ = 0; }
  size_t size() const { return size_; }
  uint64_t dropped() const { return dropped_; }
  uint64_t coalesced() const { return coalesced_; }
  size_t memory_bytes() const { return ring_.capacity() * sizeof(Firing); }

 private:
  // A division costs as much as a firing.
  size_t wrapped(size_t i) const { return i < ring_.size() ? i : i - ring_.size(); }

  size_t capacity_;
  std::vector<Firing> ring_;
  size_t head_ = 0, size_ = 0;
  uint64_t dropped_ = 0, coalesced_ = 0;
};

}  // namespace walle::stream
