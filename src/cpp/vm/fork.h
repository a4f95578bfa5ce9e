// A child that fork() makes of a process with a VM has its memory and none of its threads: the watchdog, the
// reaper and the pools are gone, and a lock that one of them held stays locked. Nothing of the VM can be used
// there, and nothing is ended there either; everything says so instead of waiting for ever.
#pragma once

#include "base/status.h"

namespace walle::vm {

// Before the first use of the VM in a process.
void watch_for_forks();
// Whether this process was forked from one that had used the VM. As cheap as reading a variable.
bool is_forked_child();
// A resource error there.
Status refuse_forked_child(const char* where);

}  // namespace walle::vm
