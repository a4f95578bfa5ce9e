#include "stream/egress/spent_days.h"

#include <algorithm>

#include "base/bytes.h"
#include "stream/event/event.h"

namespace walle::stream {

namespace {
// More than one, because a clock that goes back must find what was spent on the day it goes back to; not all,
// because every send writes them.
constexpr size_t kDaysKept = 8;
}  // namespace

// 1970 began at midnight; before it there is no clock.
int64_t day_of(int64_t ts) { return std::max(ts, int64_t{0}) / kDayUs; }

// The task's size in front: a name may hold any byte.
std::string SpentDays::key(const std::string& task, const std::string& feature) {
  base::ByteWriter out;
  out.put_bytes("day/");
  out.put_text(task);
  out.put_bytes(feature);
  return out.take();
}

SpentDays::SpentDays(const std::optional<std::string>& bytes) {
  base::ByteReader in(bytes ? std::string_view(*bytes) : std::string_view());
  while (in.left() > 0) {
    const auto day = in.get<int64_t>();
    const auto sent = in.get<int64_t>();
    days_.push_back({day, {.bytes = sent, .sends = in.get<int64_t>()}});
  }
}

Spent SpentDays::since(int64_t day) const {
  Spent out;
  for (const Day& d : days_) {
    if (d.day < day) continue;
    out.bytes += d.spent.bytes;
    out.sends += d.spent.sends;
  }
  return out;
}

void SpentDays::add(const LedgerEntry& e) {
  const int64_t day = day_of(e.ts);
  const auto at = std::ranges::lower_bound(days_, day, {}, &Day::day);
  Day& today = at != days_.end() && at->day == day ? *at : *days_.insert(at, {.day = day});
  today.spent.bytes += e.bytes;
  ++today.spent.sends;
  if (days_.size() <= kDaysKept) return;
  // Into the next one, not away: what is sent on a day before all that are kept would not be counted
  // otherwise.
  days_[1].spent.bytes += days_[0].spent.bytes;
  days_[1].spent.sends += days_[0].spent.sends;
  days_.erase(days_.begin());
}

std::string SpentDays::bytes() const {
  base::ByteWriter out;
  for (const Day& d : days_) {
    out.put(d.day);
    out.put(d.spent.bytes);
    out.put(d.spent.sends);
  }
  return out.take();
}

}  // namespace walle::stream
