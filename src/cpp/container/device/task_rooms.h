// TaskRooms: what the tasks of a device share. Everything in it is thread-safe and outlives every runner.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "container/device/app_functions.h"
#include "container/device/commits.h"
#include "container/device/device_options.h"
#include "container/device/facts.h"
#include "container/device/task_result.h"
#include "stream/processor/processor.h"
#include "vm/pool.h"

namespace walle::container {

using ResultCallback = std::function<void(const TaskResult&)>;

struct TaskRooms {
  TaskRooms(Env& device_env, const DeviceOptions& device_options, vm::Pool& isolates,
            stream::Processor& events, Commits& results, Facts& device_facts)
      : env(device_env),
        options(device_options),
        pool(isolates),
        processor(events),
        commits(results),
        facts(device_facts) {}

  Env& env;
  const DeviceOptions& options;
  vm::Pool& pool;
  stream::Processor& processor;
  Commits& commits;
  Facts& facts;
  // Isolates that end late may still call it.
  const std::shared_ptr<AppFunctions> app = std::make_shared<AppFunctions>(&facts);
  // Durably: the task does not run until it is replaced.
  std::function<void(const std::string& task, const std::string& why)> set_aside;

  // What time it is for what is due: the device's, or that of its recording; and as far as it was advanced
  // by hand.
  int64_t now_us() const {
    const int64_t own = options.processor.log.recorded_times ? processor.now() : env.wall_us();
    return std::max(own, advanced_us.load(std::memory_order_relaxed));
  }
  std::atomic<int64_t> advanced_us{0};

  std::atomic<uint64_t> firings{0}, failures{0}, lost_workers{0};
  std::atomic<size_t> hot{0};

  void on_result(ResultCallback callback) {
    auto shared = callback ? std::make_shared<const ResultCallback>(std::move(callback)) : nullptr;
    const std::lock_guard lock(lock_);
    callback_ = std::move(shared);
  }
  // nullptr: nobody listens.
  std::shared_ptr<const ResultCallback> callback() const {
    const std::lock_guard lock(lock_);
    return callback_;
  }
  // The newest thing that keeps results from being written; empty: nothing does any more.
  void trouble(std::string text) {
    const std::lock_guard lock(lock_);
    trouble_ = std::move(text);
  }
  std::string trouble() const {
    const std::lock_guard lock(lock_);
    return trouble_;
  }

 private:
  mutable std::mutex lock_;
  std::shared_ptr<const ResultCallback> callback_;
  std::string trouble_;
};

}  // namespace walle::container
