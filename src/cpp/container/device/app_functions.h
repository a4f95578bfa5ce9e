// AppFunctions: functions of the application that tasks may call, by name: walle.app.
//
// Each call runs on a thread of its own: native code cannot be stopped, and a task must be. The task stops
// waiting at the call's limit, or when it is itself stopped. A call that has not begun by then never does;
// one that has is forsaken and goes on until the function returns. Few may be forsaken of one function: a
// task that asks one that hangs again and again would fill the process with threads. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "container/task/call_spec.h"

namespace walle::container {

// Called from any thread, several at once. Its error's text is what the task reads.
using AppFunction = std::function<Result<vm::Value>(std::span<const vm::Value> arguments)>;

// How long a task may wait at all. The isolate's thread waits, others set it.
struct AskTime {
  std::atomic<int64_t> end_us = 0;  // of the phase that runs, by steady_us(); 0: none
  std::atomic<bool> cancelled = false;
};

class AppFunctions {
 public:
  static constexpr size_t kMostNames = 256;
  static constexpr int kMostForsaken = 4;

  // `device` names it in callbacks: what would wait for the function's end is refused in it.
  explicit AppFunctions(const void* device) : device_(device) {}

  // In place of the one of that name; none: it is not provided any more. Calls under way go on.
  Status provide(const std::string& name, AppFunction function);
  // What the function gives for arguments that fit `spec`, whose time it must keep.
  Result<vm::Value> ask(const CallSpec& spec, vm::List arguments, const AskTime& time);
  // No call begins any more.
  void close();

 private:
  struct Provided;
  struct Call;
  Result<std::shared_ptr<Provided>> find(const std::string& name) const;
  Status start(const std::shared_ptr<Call>& call) const;

  const void* const device_;
  mutable std::mutex lock_;
  bool closed_ = false;
  std::map<std::string, std::shared_ptr<Provided>> functions_;
};

}  // namespace walle::container
