// TaskInfo: what a device says about a task, and about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/device/task_result.h"
#include "stream/rolling/rolling_feature.h"

namespace walle::container {

enum class TaskStatus : uint8_t {
  idle,       // nothing to do
  queued,     // waits for a worker
  running,    // a worker is at it
  waiting,    // for facts: TaskInfo::missing_facts
  set_aside,  // failed too often in a row, or killed the process: runs again when it is replaced
  broken      // its bundle does not open any more: TaskInfo::error says why
};
std::string_view task_status_name(TaskStatus status);

struct FeatureInfo {
  std::string name;
  stream::RollingStats stats;
};

struct TaskInfo {
  std::string name, version;
  // The feature that asks the cloud's half, and the table of its answers; empty: none.
  std::string question, answers;
  std::string package;  // digest of the package that this version came in; empty: it came as a bundle
  TaskStatus status = TaskStatus::idle;
  int priority = 0;
  bool hot = false;         // has an isolate
  uint64_t heap_bytes = 0;  // of that isolate, at the end of its last call
  std::vector<std::string> missing_facts;
  Params params;  // that the next firing begins with
  std::vector<FeatureInfo> features;
  std::string error;  // the newest failure; of one that was set aside or is broken, why
  // The same failure in parts: the phase, the exception's type, the limit it met; empty where there is none.
  std::string error_phase, error_type, error_limit;

  uint64_t firings = 0, failures = 0;     // done since the device was opened
  uint64_t retries = 0;                   // attempts that failed and were put off: neither of the above
  size_t retrying = 0;                    // firings that wait to be tried again
  int64_t next_retry_us = 0;              // when the next of them is due, since 1970; 0: none waits
  uint64_t calls = 0, call_failures = 0;  // of apps, as well
  uint32_t failures_in_row = 0;
  // Processes in a row that ended while this version ran: they were killed, or it took them with it.
  uint32_t deaths = 0;
  uint64_t lost_workers = 0;  // calls that could not be stopped
  uint64_t isolates = 0;      // made for it: one, and one more for each time it got cold
  uint64_t replaced = 0;      // versions since the device was opened
  size_t parked = 0;          // preprocessed firings that wait for facts
  int64_t busy_us = 0;        // of workers, in all
  stream::TaskStats queue;    // of the processor: waiting, in flight, dropped, folded; triggers
};

struct DeviceStats {
  size_t tasks = 0, hot = 0, workers = 0;
  uint64_t firings = 0, failures = 0;
  uint64_t lost_workers = 0;  // replaced, because a call could not be stopped
  uint64_t last_event = 0;    // number of the newest
  std::string trouble;        // the newest failure of maintenance: a full disk, say; empty: none
};

}  // namespace walle::container
