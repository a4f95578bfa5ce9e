#include "link/policy/ramp.h"

#include <algorithm>

namespace walle::link {

uint64_t share_at(const PlanRamp& ramp, int64_t now_s) {
  if (now_s < ramp.start_s) return 0;
  // The difference of two times is in an unsigned number's range, also of the farthest apart.
  const uint64_t gone = static_cast<uint64_t>(now_s) - static_cast<uint64_t>(ramp.start_s);
  if (gone >= ramp.seconds) return ramp.to;
  return ramp.from + (ramp.to - ramp.from) * gone / ramp.seconds;  // below 2^64: both are at most 2^32
}

uint64_t control_at(const PlanRamp& ramp, int64_t now_s) {
  const uint64_t treated = share_at(ramp, now_s);
  return std::min({ramp.control, treated, kWhole - treated});
}

}  // namespace walle::link
