// TaskTable: the tasks of a processor and their triggers in its matcher. A trigger is named by its task and
// its name: that goes into its fingerprint, so that equal texts of two tasks fire under different keys and
// find their own state in a snapshot.
//
// Not synchronised: the processor's locks are. Names, once seen, are kept for good: firings in flight point
// to them, and there are no more than people have invented.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "stream/processor/processor_state.h"
#include "stream/processor/task_queue.h"

namespace walle::stream {

struct TaskTrigger {
  std::string_view name;
  CompiledTrigger compiled;
  uint64_t order = 0;   // of adding, over all tasks
  uint16_t id = kNone;  // of the matcher; kNone: its text no longer compiles
  TriggerStats before;  // of matchers before this one
};

struct Task {
  Task(std::string_view name, uint32_t capacity, WhenFull when_full)
      : name(name), queue(capacity, when_full) {}

  std::string_view name;
  std::vector<TaskTrigger> triggers;
  uint64_t newest = 0;  // number of its newest firing
  TaskQueue queue;
};

// Of its own, by which all its triggers go; none: the device's.
inline std::shared_ptr<const LocalTime> local_of(const Task& task) {
  return task.triggers.empty() ? nullptr : task.triggers.front().compiled.local;
}

class TaskTable {
 public:
  using Tasks = std::map<std::string, std::unique_ptr<Task>, std::less<>>;
  struct Owner {  // of a trigger of the matcher
    Task* task = nullptr;
    std::string_view trigger;
    ScopeParts scope = {};
  };

  TaskTable(const Catalog& catalog, const MatcherOptions& options)
      : catalog_(catalog), options_(options), matcher_(std::make_unique<Matcher>(catalog, options)) {}

  void set_local(const LocalTime& local) {
    options_.local = local;
    matcher_->set_local(local);
  }
  const LocalTime& local() const { return options_.local; }
  Matcher& matcher() { return *matcher_; }
  const Matcher& matcher() const { return *matcher_; }
  const Owner& owner(uint16_t id) const { return owners_[id]; }
  Tasks& all() { return tasks_; }
  const Tasks& all() const { return tasks_; }
  Task* find(std::string_view name);
  const Task* find(std::string_view name) const;
  std::string_view intern(std::string_view name);

  // The triggers of `given` as change() wants them. An error leaves no trace.
  Result<std::vector<CompiledTrigger>> compile(const TaskTriggers& given) const;
  // Triggers with a text that the task has, and its local time, go on, others go, new ones come; `fresh` gets
  // these. After an error the matcher has to be rebuilt.
  Status change(Task& task, const TaskTriggers& given, std::vector<CompiledTrigger> compiled,
                std::vector<TaskTrigger*>& fresh);
  void drop(Task& task);
  // For whoever undoes a change: the task's triggers with what they have counted.
  std::vector<TaskTrigger> copy_of(const Task& task) const;
  // A new matcher with the triggers of all tasks in their order and the state of `snapshot`. A trigger whose
  // text does not compile any more, and a snapshot that does not fit, are logged and passed over: false.
  bool rebuild(std::string_view snapshot);

  // What the matcher counted since the trigger was added, and others before.
  TriggerStats stats_of(const TaskTrigger& t) const;
  uint64_t next_order() const { return next_order_; }
  void go_on_from(uint64_t next_order) { next_order_ = next_order; }
  size_t memory_bytes() const;

 private:
  Status add(Task& task, TaskTrigger& t);
  void remove(TaskTrigger& t);

  const Catalog& catalog_;
  MatcherOptions options_;
  std::unique_ptr<Matcher> matcher_;
  Tasks tasks_;
  std::vector<Owner> owners_;  // by the matcher's number of the trigger
  std::set<std::string, std::less<>> names_;
  uint64_t next_order_ = 0;
};

}  // namespace walle::stream
