// What host calls find behind the isolate that calls them.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "vm/host/kv_file.h"

namespace walle::vm {

struct TaskContext {
  std::function<void(base::LogLevel, std::string_view)> log;  // from the thread that runs the task
  std::shared_ptr<KvFile> kv;                                 // nullptr: walle.kv refuses
};

}  // namespace walle::vm
