// Tasks come, are replaced and go between two events, and a checkpoint makes each change durable. What fails
// is undone: a matcher is made anew with the state that it had, and the queue gets its content back.
#include <algorithm>

#include "stream/processor/processor_parts.h"

namespace walle::stream {

namespace {
// A task as it was before a change.
struct Before {
  std::string snapshot;
  std::vector<TaskTrigger> triggers;
  uint64_t newest = 0;
  TaskQueue queue;
};

// Precondition: nothing was taken meanwhile, because the queue was held; something may have been settled.
void undo(TaskTable& table, Task& task, Before& before) {
  const uint64_t settled = task.queue.settled();
  task.triggers = std::move(before.triggers);
  task.newest = before.newest;
  task.queue = std::move(before.queue);
  task.queue.settle(std::min(settled, task.newest));
  table.rebuild(before.snapshot);
}
}  // namespace

// The task of this name, or a new one that goes on with the numbers of one that was removed.
Task& Processor::Parts::task_for(const TaskTriggers& given) {
  const std::lock_guard lock(queues);
  if (Task* known = table->find(given.task)) return *known;
  auto task = std::make_unique<Task>(table->intern(given.task), given.queue, given.when_full);
  const auto used = former.find(given.task);
  task->newest = std::max(used == former.end() ? 0 : used->second, settled_by_caller(given.task));
  task->queue.settle(task->newest);
  return *(table->all()[given.task] = std::move(task));
}

Status Processor::Parts::change(Task& task, const TaskTriggers& given,
                                std::vector<CompiledTrigger> compiled) {
  std::vector<TaskTrigger*> fresh;
  {
    const std::lock_guard lock(queues);
    task.queue.hold(true);
    task.queue.reshape(given.queue, given.when_full);
    WALLE_TRY(table->change(task, given, std::move(compiled), fresh));
  }
  if (given.past != Past::ignored && !fresh.empty())
    WALLE_TRY(add_past(task, fresh, given.past == Past::delivered));
  return checkpoint_locked();
}

Status Processor::Parts::install(const TaskTriggers& given) {
  WALLE_TRY(log->check_process());
  WALLE_ASSIGN(std::vector<CompiledTrigger> compiled, table->compile(given));
  const bool fresh = table->find(given.task) == nullptr;
  Task& task = task_for(given);
  Before before{.snapshot = table->matcher().snapshot(),
                .triggers = table->copy_of(task),
                .newest = task.newest,
                .queue = task.queue};
  Status changed = change(task, given, std::move(compiled));
  const std::lock_guard lock(queues);
  if (changed.ok()) {
    task.queue.hold(false);
    former.erase(given.task);
  } else {
    undo(*table, task, before);
  }
  // Who asked while the queue was held was told that nothing waits.
  if (task.queue.waiting() > 0) ready.add(task.name);
  if (!changed.ok() && fresh) table->all().erase(given.task);
  return changed;
}

Status Processor::Parts::remove(const std::string& name) {
  WALLE_TRY(log->check_process());
  Task* task = table->find(name);
  if (!task)
    return argument_error({"task '", name, "'"}, "an installed task", "remove",
                          "install it first, or correct its name");
  Before before{.snapshot = table->matcher().snapshot(),
                .triggers = table->copy_of(*task),
                .newest = task->newest,
                .queue = task->queue};
  std::unique_ptr<Task> gone;
  {
    const std::lock_guard lock(queues);
    table->drop(*task);
    gone = std::move(table->all().find(name)->second);
    table->all().erase(name);
    former[name] = gone->newest;
  }
  Status written = checkpoint_locked();
  if (written.ok()) return {};
  const std::lock_guard lock(queues);
  former.erase(name);
  Task& back = *(table->all()[name] = std::move(gone));
  undo(*table, back, before);
  return written;
}

Status Processor::install(const TaskTriggers& task) {
  ReadyTasks told;
  Status installed;
  {
    const std::lock_guard one_at_a_time(parts_->writing);
    const std::lock_guard lock(parts_->matching);
    installed = parts_->install(task);
    std::swap(told, parts_->ready);
  }
  parts_->tell(told);
  return installed;
}

Status Processor::remove(const std::string& task) {
  const std::lock_guard one_at_a_time(parts_->writing);
  const std::lock_guard lock(parts_->matching);
  return parts_->remove(task);
}

}  // namespace walle::stream
