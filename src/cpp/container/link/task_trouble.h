// Task trouble: a task's failure in the terms of reports.
#pragma once

#include "container/device/task_info.h"
#include "link/agent/agent_host.h"

namespace walle::container {

link::TaskTrouble trouble_of(const TaskError& error);
// The newest failure of a task; of one that does not open, that.
link::TaskTrouble trouble_of(const TaskInfo& info);

}  // namespace walle::container
