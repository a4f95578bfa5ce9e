// LocalTime: how far local time is ahead of UTC, and from when on it is another hour (daylight saving): a
// table, because matching must give the same in every replay, whatever becomes of the host's zones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace walle::stream {

struct UtcOffset {
  int64_t from_us = 0;  // in UTC
  int64_t offset_us = 0;
  friend bool operator==(const UtcOffset&, const UtcOffset&) = default;
};

inline constexpr size_t kMaxOffsetChanges = 1024;  // four a year over the times that a log may hold
inline constexpr int64_t kMaxOffsetUs = int64_t{26} * 3'600'000'000;

class LocalTime {
 public:
  // `first` holds up to the first of `changes`, which are in order of time.
  explicit LocalTime(int64_t first = 0, std::vector<UtcOffset> changes = {})
      : first_(first), changes_(std::move(changes)) {}
  // That of the process: TZ, else the system's. From 2000 to 2045.
  static LocalTime host();

  int64_t first() const { return first_; }
  const std::vector<UtcOffset>& changes() const { return changes_; }
  // Offsets within a day or so, changes in order of time and not too many.
  bool valid() const;
  friend bool operator==(const LocalTime&, const LocalTime&) = default;

  int64_t of(int64_t utc_us) const;
  // The earliest UTC time at which the local clock shows `local_us` or more: a time that is skipped in spring
  // is when the clock is set forward, one that comes twice in autumn is the first of the two.
  int64_t utc_of(int64_t local_us) const;
  size_t memory_bytes() const { return changes_.capacity() * sizeof(UtcOffset); }

 private:
  int64_t first_;
  std::vector<UtcOffset> changes_;
};

// Of tasks, where none is the device's.
inline bool same_local(const std::shared_ptr<const LocalTime>& a, const std::shared_ptr<const LocalTime>& b) {
  return a && b ? *a == *b : a == b;
}

}  // namespace walle::stream
