// KeyHistory: the newest events of one key, oldest first, in a ring; and where those ended that are not in it
// any more.
//
// Numbers and times never go back: the log places every event behind the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace walle::stream {

struct RollingEntry {
  uint64_t seq = 0;
  int64_t ts = 0;
  uint64_t bits = 0;  // an int or a double
};

// Which events of a key count.
struct RollingWindow {
  uint64_t after = 0;   // numbers up to here are not in the log any more
  uint64_t to = 0;      // last number
  int64_t from_ts = 0;  // of a window by time
  uint32_t events = 0;  // of one by number; 0: by time
};

// What has left a memory, as far as it matters: the newest of it.
struct RollingGone {
  uint64_t seq = 0;  // 0: nothing has
  int64_t ts = INT64_MIN;

  void note(uint64_t number, int64_t time) {
    seq = std::max(seq, number);
    ts = std::max(ts, time);
  }
  // Whether something of it may belong to the window, of which `found` events are there.
  bool in(const RollingWindow& w, size_t found) const {
    return seq > w.after && (w.events == 0 ? ts >= w.from_ts : found < w.events);
  }
};

class KeyHistory {
 public:
  // What a ring holds at most: 1.5 MB.
  static constexpr size_t kMost = 65'536;

  // Before the ring grows beyond so many, what is older than `old` goes; beyond `most` the oldest goes.
  void push(const RollingEntry& e, int64_t old, size_t most);
  size_t size() const { return size_; }
  const RollingEntry& at(size_t i) const { return ring_[(first_ + i) & (ring_.size() - 1)]; }
  const RollingEntry& newest() const { return at(size_ - 1); }
  RollingGone& gone() { return gone_; }
  size_t bytes() const { return ring_.capacity() * sizeof(RollingEntry); }

  // The places of those that count, from the first to behind the last; none: not all of them are here.
  std::optional<std::pair<size_t, size_t>> find(const RollingWindow& w) const;

 private:
  void drop_oldest();
  void grow();

  std::vector<RollingEntry> ring_;  // a power of two
  size_t first_ = 0, size_ = 0;
  RollingGone gone_;
};

}  // namespace walle::stream
