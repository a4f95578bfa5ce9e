#include "container/link/task_trouble.h"

namespace walle::container {

link::TaskTrouble trouble_of(const TaskError& error) {
  return {.phase = std::string(phase_name(error.phase)),
          .type = error.type,
          .limit = std::string(vm::reason_name(error.limit)),
          .message = error.text()};
}

link::TaskTrouble trouble_of(const TaskInfo& info) {
  link::TaskTrouble out{
      .phase = info.error_phase, .type = info.error_type, .limit = info.error_limit, .message = info.error};
  if (info.status == TaskStatus::broken) {
    out.phase = "stage";
    out.type = "LoadError";
  }
  // A failure of a process before this one left its words alone.
  if (out.phase.empty()) out.phase = "execute";
  if (out.type.empty()) out.type = "SetAside";
  return out;
}

}  // namespace walle::container
