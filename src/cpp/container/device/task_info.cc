#include "container/device/task_info.h"

namespace walle::container {

std::string_view task_status_name(TaskStatus status) {
  switch (status) {
    case TaskStatus::idle: return "idle";
    case TaskStatus::queued: return "queued";
    case TaskStatus::running: return "running";
    case TaskStatus::waiting: return "waiting";
    case TaskStatus::set_aside: return "set aside";
    case TaskStatus::broken: return "broken";
  }
  return "idle";
}

}  // namespace walle::container
