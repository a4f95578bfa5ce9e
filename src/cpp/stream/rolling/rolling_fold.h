// RollingFold: what becomes of the numbers of a window, added one after another from the oldest to the
// newest: the same to the bit wherever they were kept and whatever came before them.
//
// No number is ever subtracted: a sum that is rolled along by taking out what leaves differs from one that is
// made anew, by as much as the greatest number that was ever in it.
#pragma once

#include "stream/rolling/rolling_spec.h"

namespace walle::stream {

class RollingFold {
 public:
  RollingFold(RollingKind kind, bool whole) : kind_(kind), whole_(whole) {}
  void add(uint64_t bits);
  // Of `n` events of which nothing but their number counts.
  void count(size_t n) { count_ += static_cast<int64_t>(n); }
  bool counts_only() const { return kind_ == RollingKind::count; }
  // Absent: there was no event, of which a count is 0.
  Value value() const;

 private:
  RollingKind kind_;
  bool whole_;
  int64_t count_ = 0;
  int64_t total_ = 0;  // of ints, but for so many times 2^64
  int64_t wraps_ = 0;
  double real_ = 0;
  int64_t whole_extreme_ = 0;
};

}  // namespace walle::stream
