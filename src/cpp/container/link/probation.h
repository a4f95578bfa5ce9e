// Probation: a version of a task, run on what the device has recorded, in a device of its own that is thrown
// away. Its rows, its walle.kv and what it sends lie there and go with it; nothing of it has a tunnel.
//
// The newest events of the log are recorded anew, with their times, until the task has fired a few times. So
// workers, limits and breakers are those of a real device, and a call that cannot be stopped costs a worker
// of the probation and not one of the device's.
#pragma once

#include <atomic>

#include "container/device/device_core.h"
#include "link/agent/agent_host.h"

namespace walle::container {

struct ProbationOptions {
  uint64_t events = 20'000;  // of the log, the newest: 10 ms to match
  uint32_t firings = 8;
  int64_t patience_us = 30'000'000;  // beyond it the probation ends with what it has
};

// An error where it could not be held - a full disk, `cancelled` - or where the version does not even open.
Result<link::Probation> hold_probation(Env& env, DeviceCore& device, const link::StagedPackage& staged,
                                       const std::string& folder, const std::atomic<bool>& cancelled,
                                       ProbationOptions options = {});

}  // namespace walle::container
