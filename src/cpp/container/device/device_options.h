// DeviceOptions: how a device runs its tasks. What has no name here is the task's own say
// (container/task/manifest.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "container/device/app_functions.h"
#include "container/device/commits.h"
#include "stream/processor/processor.h"
#include "vm/pool.h"

namespace walle::container {

struct DeviceOptions {
  std::string vm_library;  // empty: where vm::Vm::open looks
  stream::Catalog catalog;
  stream::ProcessorOptions processor;  // `settled` is the device's own
  CommitsOptions commits;
  std::optional<stream::LocalTime> local;  // of `daily` and `during`; none: the host's

  uint32_t workers = 2;                                       // at most kMaxWorkers
  uint32_t ready_isolates = 2;                                // warm ones that wait for a task: 0.4 MB each
  std::vector<std::string> warm_imports = vm::std_imports();  // what those have imported
  // A task that was not called for so long, or is the one of more than so many, gives its isolate back.
  int64_t cold_after_us = 60'000'000;
  uint32_t hot_tasks = 32;
  uint64_t hot_bytes = uint64_t{256} << 20;  // heaps of isolates that wait for their task's next firing
  // Beyond a phase's wall-clock limit: then its worker is given up. At close(): then calls are stopped.
  uint32_t grace_ms = 1000;
  // A thread advances time, syncs, checkpoints and lets go of the cold.
  bool background = true;

  // Provided before what waits begins: DeviceCore::provide.
  std::map<std::string, AppFunction> app;
  // Lines of tasks, from the thread that runs them; none: base::log.
  std::function<void(std::string_view task, base::LogLevel level, std::string_view line)> log;
};

inline constexpr uint32_t kMaxWorkers = 64;

}  // namespace walle::container
