// LimitTable: windows and gaps by number: many tasks share few durations, and a two-byte number in each edge
// and terminal costs less memory than the eight-byte duration. Entry 0 is "no limit".
#pragma once

#include <algorithm>
#include <cstdint>

#include "stream/match/tight.h"

namespace walle::stream {

// Not synchronised. Invariant: a number in use names one duration, and no two numbers in use name the same.
class LimitTable {
 public:
  LimitTable() : limits_(1, ~uint64_t{0}), uses_(1, 1) {}

  // Exclusive, in key units. Precondition: has_room(1).
  uint16_t intern(uint64_t limit) {
    if (limit == limits_[0]) return 0;
    uint16_t at = find(limit);
    if (at == 0) {
      // Linear: tasks share a handful of durations, and this runs when a task is added.
      const auto free = std::find(uses_.begin(), uses_.end(), 0u);
      at = static_cast<uint16_t>(free - uses_.begin());
      if (free == uses_.end()) {
        tight::push(limits_, limit);
        tight::push(uses_, 0u);
      }
      limits_[at] = limit;
    }
    ++uses_[at];
    return at;
  }
  void release(uint16_t at) { uses_[at] -= at != 0; }
  // 0 when no one uses the limit.
  uint16_t find(uint64_t limit) const {
    for (size_t i = 1; i < limits_.size(); ++i)
      if (limits_[i] == limit && uses_[i]) return static_cast<uint16_t>(i);
    return 0;
  }
  bool has_room(size_t more) const { return limits_.size() + more <= kMost; }
  const uint64_t* data() const { return limits_.data(); }
  uint64_t operator[](uint16_t at) const { return limits_[at]; }
  size_t memory_bytes() const { return tight::bytes(limits_) + tight::bytes(uses_); }

 private:
  // Numbers are 15 bits: an end of a chain has a flag beside it.
  static constexpr size_t kMost = 0x7fff;
  std::vector<uint64_t> limits_;
  std::vector<uint32_t> uses_;
};

}  // namespace walle::stream
