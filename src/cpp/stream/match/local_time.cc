#include "stream/match/local_time.h"

#include <algorithm>

namespace walle::stream {

int64_t LocalTime::of(int64_t utc_us) const {
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), utc_us,
                                     [](int64_t ts, const UtcOffset& c) { return ts < c.from_us; });
  return utc_us + (next == changes_.begin() ? first_ : (next - 1)->offset_us);
}

int64_t LocalTime::utc_of(int64_t local_us) const {
  // The first span of one offset that lasts until the local clock has shown the time. They follow each other,
  // so that a binary search by each span's last local time would do only if those grew, which a clock set
  // back undoes: from a day before, one by one.
  constexpr int64_t kDay = 86'400'000'000;
  auto next = std::upper_bound(changes_.begin(), changes_.end(), local_us - 2 * kDay,
                               [](int64_t ts, const UtcOffset& c) { return ts < c.from_us; });
  int64_t from = INT64_MIN;
  int64_t offset = first_;
  if (next != changes_.begin()) {
    from = (next - 1)->from_us;
    offset = (next - 1)->offset_us;
  }
  for (;; ++next) {
    const int64_t at = std::max(from, local_us - offset);
    if (next == changes_.end() || at < next->from_us) return at;
    from = next->from_us;
    offset = next->offset_us;
  }
}

}  // namespace walle::stream
