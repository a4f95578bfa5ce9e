// LocalTime: local time on a device that knows no time zones: the host says how far it is ahead of UTC, and
// from when on it is another hour (daylight saving).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace walle::stream {

struct UtcOffset {
  int64_t from_us = 0;  // in UTC
  int64_t offset_us = 0;
};

class LocalTime {
 public:
  // `first` holds up to the first of `changes`, which are in order of time.
  explicit LocalTime(int64_t first, std::vector<UtcOffset> changes = {})
      : first_(first), changes_(std::move(changes)) {}

  int64_t of(int64_t utc_us) const;
  // The earliest UTC time at which the local clock shows `local_us` or more: a time that is skipped in spring
  // is when the clock is set forward, one that comes twice in autumn is the first of the two.
  int64_t utc_of(int64_t local_us) const;
  size_t memory_bytes() const { return changes_.capacity() * sizeof(UtcOffset); }

 private:
  int64_t first_;
  std::vector<UtcOffset> changes_;
};

}  // namespace walle::stream
