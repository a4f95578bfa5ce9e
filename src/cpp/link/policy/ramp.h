// PlanRamp: how a gray release grows: a share of devices along a straight line over time, in 2^-32. Values,
// no state.
#pragma once

#include <cstdint>

namespace walle::link {

inline constexpr uint64_t kWhole = uint64_t{1} << 32;  // the share that is every device

struct PlanRamp {
  uint64_t from = 0;
  uint64_t to = kWhole;
  int64_t start_s = 0;
  uint32_t seconds = 0;
  uint64_t control = 0;
  uint32_t report_seconds = 600;
};

// The share of devices a ramp has let in at `now_s`, of kWhole: none before its start, `from` at the start,
// from then on along a straight line to `to`, and never less later on.
uint64_t share_at(const PlanRamp& ramp, int64_t now_s);
// The share that is control: no more than is treated, so that both cohorts report as often, and none of those
// who will be let in last while they are.
uint64_t control_at(const PlanRamp& ramp, int64_t now_s);

}  // namespace walle::link
