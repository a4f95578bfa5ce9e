// Units of durations in triggers, largest first: what the parser reads and the canonical text writes.
#pragma once

#include <string_view>

#include "stream/event/event.h"

namespace walle::stream {

struct DurationUnit {
  std::string_view name;
  int64_t us;
};
inline constexpr DurationUnit kDurationUnits[] = {{"d", kDayUs},    {"h", kHourUs}, {"m", kMinuteUs},
                                                  {"s", kSecondUs}, {"ms", 1000},   {"us", 1}};

}  // namespace walle::stream
