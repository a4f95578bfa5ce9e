// Isolate: one task's interpreter. Any thread may call, one at a time; cancel() and stats() come from any
// thread.
//
// Destruction happens on a reaper thread, so that dropping the last handle costs nothing where it happens.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "vm/attention.h"
#include "vm/bundle.h"
#include "vm/context.h"
#include "vm/watchdog.h"

namespace walle::vm {

struct IsolateStats {
  uint64_t heap_bytes = 0;
  uint64_t heap_peak = 0;
  uint64_t calls = 0;
  uint64_t cancels = 0;
  uint64_t denied_allocations = 0;
};

class Isolate {
 public:
  static Result<std::unique_ptr<Isolate>> create(std::shared_ptr<const Vm> vm, Limits limits,
                                                 TaskContext context);
  // Warm and nobody's: without limits and context, until it is given them.
  static Result<std::unique_ptr<Isolate>> create_bare(std::shared_ptr<const Vm> vm);
  ~Isolate();
  Isolate(const Isolate&) = delete;
  Isolate& operator=(const Isolate&) = delete;

  // An argument error for limits that give() would refuse whatever memory there is.
  static Status check(const Vm& vm, const Limits& limits);
  // From now on under these limits and in this context; what it has imported stays. For an isolate that no
  // task has used: what one left behind would be the next one's. An error leaves all as it was.
  Status give(Limits limits, TaskContext context);
  // Time limits of the calls to come, each of which may have its own. From the thread that calls next.
  void limit_time(uint32_t wall_ms, uint32_t cpu_ms) {
    limits_.wall_ms = wall_ms;
    limits_.cpu_ms = cpu_ms;
  }
  // The bundle's modules become importable.
  Status attach(std::shared_ptr<const Bundle> bundle);
  // Imports the module if needed and calls its function on the calling thread. `attention`, unless nullptr,
  // is asked now and then whether the call shall end.
  Outcome call(const std::string& module, const std::string& function, const std::vector<Value>& args) {
    return invoke(module.c_str(), function.c_str(), args);
  }
  Outcome invoke(const char* module, const char* function, std::span<const Value> args,
                 Attention* attention = nullptr);
  // The same in the boundary's own terms, for bindings whose values are numbers and text, which then pass
  // without a Value each way. What `args` point to is the caller's; what `result` points to is there until
  // release().
  void invoke_plain(const char* module, const char* function, std::span<const wvm_value> args,
                    wvm_result& result, Attention* attention = nullptr);
  void release(wvm_result& result) const {
    if (result.arena != nullptr || result.value.kind >= WVM_STR) release_held(result);
  }
  // `result` as an Outcome, with the lines of the sources that the host has.
  Outcome outcome_of(const wvm_result& result) const;
  // Full flavour: runs source text as module `source.name`.
  Outcome run(const Source& source, Attention* attention = nullptr);
  void cancel();
  IsolateStats stats() const;
  // A fresh interpreter under the same limits, with the same bundles: nothing of the last task is left.
  Status reset();

  const Limits& limits() const { return limits_; }
  const Vm& vm() const { return *vm_; }

 private:
  struct Body;
  explicit Isolate(std::shared_ptr<const Vm> vm) : vm_(std::move(vm)) {}
  static Result<std::shared_ptr<Body>> make_body(const std::shared_ptr<const Vm>& vm);
  template <class Run>
  void guarded(wvm_result& result, Attention* attention, const Run& run);
  Outcome taken(wvm_result& result) const;
  void release_held(wvm_result& result) const;

  std::shared_ptr<const Vm> vm_;
  Limits limits_;
  TaskContext context_;
  void show_sources(Failure& failure) const;
  std::vector<std::shared_ptr<const Bundle>> bundles_;
  std::map<std::string, std::string> run_sources_;  // what run() was given, by file
  mutable std::mutex
      replacing_;  // held to change what is read without being inside: body_ (cancel(), stats()) and sources
  std::shared_ptr<Body> body_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace walle::vm
