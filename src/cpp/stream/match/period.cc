#include "stream/match/period.h"

namespace walle::stream {

namespace {
// Rounds down for times before 1970 too, which a test's clock may give.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
}  // namespace

int64_t next_due(TimerKind kind, int64_t us, int64_t after, const LocalTime& local) {
  if (kind == TimerKind::every) return (floor_div(after, us) + 1) * us;
  // A day early, since the clock may have been set back over midnight.
  for (int64_t day = floor_div(local.of(after), kDayUs) - 1;; ++day)
    if (const int64_t due = local.utc_of(day * kDayUs + us); due > after) return due;
}

int64_t last_due(TimerKind kind, int64_t us, int64_t before, const LocalTime& local) {
  if (kind == TimerKind::every) return floor_div(before - 1, us) * us;
  for (int64_t day = floor_div(local.of(before), kDayUs) + 1;; --day)
    if (const int64_t due = local.utc_of(day * kDayUs + us); due < before) return due;
}

}  // namespace walle::stream
