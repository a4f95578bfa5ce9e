#include "stream/match/local_time.h"

#include <algorithm>
#include <ctime>

namespace walle::stream {

namespace {
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kFirstSecond = 946'684'800;   // 2000
constexpr int64_t kLastSecond = 2'366'841'600;  // 2045: what is later counts as that year's end
constexpr int64_t kWeek = 7 * 86'400;           // no zone changes twice within one

// In seconds; 0 where the system cannot say.
int64_t host_offset(int64_t utc_s) {
  const auto at = static_cast<time_t>(utc_s);
  std::tm local{};
  return localtime_r(&at, &local) ? local.tm_gmtoff : 0;
}
}  // namespace

LocalTime LocalTime::host() {
  tzset();  // localtime_r alone need not look whether the zone has changed
  int64_t offset = host_offset(kFirstSecond);
  LocalTime out(offset * kSecond);
  for (int64_t at = kFirstSecond; at < kLastSecond; at += kWeek) {
    const int64_t next = host_offset(at + kWeek);
    if (next == offset) continue;
    int64_t before = at;
    int64_t after = at + kWeek;
    while (after - before > 1) {
      const int64_t middle = before + (after - before) / 2;
      (host_offset(middle) == offset ? before : after) = middle;
    }
    offset = next;
    out.changes_.push_back({after * kSecond, offset * kSecond});
  }
  return out;
}

bool LocalTime::valid() const {
  const auto fits = [](int64_t offset) { return offset >= -kMaxOffsetUs && offset <= kMaxOffsetUs; };
  return fits(first_) && changes_.size() <= kMaxOffsetChanges &&
         std::ranges::is_sorted(changes_, {}, &UtcOffset::from_us) &&
         std::ranges::all_of(changes_, fits, &UtcOffset::offset_us);
}

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
