// What host calls find behind the isolate that calls them.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "vm/attention.h"
#include "vm/bundle.h"
#include "vm/host/log_quota.h"
#include "vm/host/task_state.h"

namespace walle::vm {

class EngineModels;

struct TaskContext {
  std::function<void(base::LogLevel, std::string_view)> log;  // from the thread that runs the task
  std::shared_ptr<TaskState> kv;                              // nullptr: walle.kv refuses

  // Filled in by the isolate itself.
  std::vector<std::shared_ptr<const Bundle>> bundles;
  std::shared_ptr<EngineModels> models;  // what walle.engine has loaded; nullptr before the first
  LogQuota log_quota;
  Attention* attention = nullptr;  // of the call that runs; nullptr: nobody
};

}  // namespace walle::vm
