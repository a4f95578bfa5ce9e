// Fork: a child that fork() makes of a process with a VM has its memory and none of its threads: the
// watchdog, the reaper and the pools are gone, and a lock that one of them held stays locked. Nothing of the
// VM can be used there, and nothing is ended there either; everything says so instead of waiting for ever.
#pragma once

#include <atomic>

#include "base/status.h"

namespace walle::vm {

namespace fork_detail {
extern std::atomic<bool> forked;
}

// Before the first use of the VM in a process.
void watch_for_forks();
// Whether this process was forked from one that had used the VM. Every call asks twice, hence here: as a
// function of fork.cc it took a twentieth of a warm call.
inline bool is_forked_child() { return fork_detail::forked.load(std::memory_order_relaxed); }
// A resource error there.
Status refuse_forked_child(const char* where);

}  // namespace walle::vm
