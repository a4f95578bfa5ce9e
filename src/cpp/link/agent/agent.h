// The agent: brings a device to what the server's signed plan wants of it, one pull at a time.
//
//   plan -> refresh of what is authentic -> decision -> missing files by digest -> verified -> staged
//   -> probation on recorded events -> activated -> reported
//
// Nothing that is not verified runs: the plan is a target of the director's role, each package a target of
// its scenario's role under exactly the digest that the plan names, each file what its package says. A task
// that cannot be brought forward stays as it is, and keeps no other from moving.
//
// Atomic: what is under way is durable before it begins (agent_memory.h), so a process that dies anywhere
// continues or begins anew; what is installed is the host's own atomic step. A version that fails its
// probation, is set aside, or takes the process with it three times gives way to the last good one, which
// lies on the disk, and the server is told once.
//
// Not synchronised: one thread (agent_thread.h), one agent per folder.
#pragma once

#include <functional>
#include <memory>

#include "link/agent/agent_host.h"
#include "link/agent/agent_memory.h"
#include "link/agent/blob_folder.h"
#include "link/policy/device_header.h"
#include "link/policy/plan.h"
#include "link/trust/updater.h"

namespace walle::link {
}
