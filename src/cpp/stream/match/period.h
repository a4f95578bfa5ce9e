// Due times of `every` and `daily`: periods count from 1970, days in local time.
#pragma once

#include "stream/match/local_time.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

// The first due time after `after`. A day's time that is skipped in spring is due when the clock is set
// forward, one that comes twice in autumn the first time. Precondition: kind is every or daily.
int64_t next_due(TimerKind kind, int64_t us, int64_t after, const LocalTime& local);
// The last due time before `before`.
int64_t last_due(TimerKind kind, int64_t us, int64_t before, const LocalTime& local);

}  // namespace walle::stream
