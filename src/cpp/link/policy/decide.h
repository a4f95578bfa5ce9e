// Decision: what a device should run: a pure function of its header, a plan and the time. The device, the
// server and every gateway between them call the same one, so nobody keeps a row per device.
//
// Of each task the first release that suits the device is its; releases behind that one are what is left when
// it goes. A gray release lets in a growing share of devices by a hash of the device and the release: who is
// in stays in. Past the other end of the same hash lies its control cohort, which keeps what the next release
// says.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "link/policy/device_header.h"
#include "link/policy/plan.h"

namespace walle::link {

enum class Cohort : uint8_t { treated, control };

inline constexpr uint32_t kNoRelease = 0xffffffff;

// One task's.
struct Choice {
  uint32_t release = kNoRelease;  // in Plan::releases(): whose package runs; kNoRelease: none
  // The gray release this device is counted for: it claims a place before it changes anything, and reports
  // within PlanRamp::report_seconds, in the control cohort too. kNoRelease: none.
  uint32_t trial = kNoRelease;
  Cohort cohort = Cohort::treated;  // in the trial
};

struct Decision {
  // In the plan's order. A task that came with a plan and has no choice is removed.
  std::vector<Choice> choices;
  // Of what follows for the device: packages, and trials it is control of. A device that has carried a
  // decision out - installed, or tried and turned down - says its digest in DeviceHeader::active. 0: nothing
  // to run.
  uint32_t digest = 0;
};

Decision decide(const Plan& plan, const DeviceHeader& header, int64_t now_s);

// The digest alone. Allocates nothing: 0.11 us with 300 tasks, 0.19 with 10 of them gray
// (bench/link/test_policy.py).
uint32_t decide_digest(const Plan& plan, const DeviceHeader& header, int64_t now_s);

// Whether the device carried out what it should run now. The epoch does not count: a new plan that changes
// nothing for this device is no reason to come.
bool up_to_date(const Plan& plan, const DeviceHeader& header, int64_t now_s);

}  // namespace walle::link
