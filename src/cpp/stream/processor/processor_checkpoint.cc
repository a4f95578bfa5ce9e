// The processor's whole state as one durable thing.
#include <algorithm>

#include "stream/processor/processor_parts.h"

namespace walle::stream {

namespace {
StoredTask stored(const TaskTable& table, const Task& task) {
  StoredTask out{.name = std::string(task.name),
                 .queue = task.queue.capacity(),
                 .when_full = task.queue.when_full(),
                 .newest = task.newest,
                 .settled = task.queue.settled(),
                 .dropped = task.queue.dropped(),
                 .coalesced = task.queue.coalesced(),
                 .local = local_of(task),
                 .triggers = {},
                 .waiting = {}};
  for (const TaskTrigger& t : task.triggers)
    out.triggers.push_back(
        {.name = std::string(t.name), .text = t.compiled.text, .order = t.order, .stats = table.stats_of(t)});
  task.queue.each([&](const TaskFiring& f) {
    out.waiting.push_back({.firing = f, .trigger_name = std::string(f.trigger_name)});
  });
  return out;
}
}  // namespace

// Precondition: `matching` is held.
ProcessorState Processor::Parts::state() const {
  ProcessorState out{.lost = lost,
                     .seen = seen,
                     .session = places.session(),
                     .page_instance = places.page_instance(),
                     .next_order = table->next_order(),
                     .local = table->local(),
                     .tasks = {},
                     .former = former,
                     .snapshot = table->matcher().snapshot()};
  const std::lock_guard lock(queues);
  for (const auto& [name, task] : table->all()) out.tasks.push_back(stored(*table, *task));
  return out;
}

// Precondition: `matching` and `writing` are held, or nobody else is there yet.
Status Processor::Parts::checkpoint_locked() { return write(encode_state(state()), seen); }

Status Processor::checkpoint() {
  const std::lock_guard one_at_a_time(parts_->writing);
  std::string bytes;
  uint64_t seen = 0;
  {
    const std::lock_guard lock(parts_->matching);
    bytes = encode_state(parts_->state());
    seen = parts_->seen;
  }
  WALLE_TRY(parts_->write(bytes, seen));
  // From here on the log tells what it had to let go before it was matched.
  return parts_->log->set_cursor("processor", seen);
}

Status Processor::maintain() {
  WALLE_TRY(parts_->log->maintain());
  if (parts_->seen - parts_->saved >= parts_->options.checkpoint_events) WALLE_TRY(checkpoint());
  parts_->warm_rolling();
  return {};
}

Status Processor::set_local(const LocalTime& local) {
  MatcherOptions options;
  options.local = local;
  WALLE_TRY(check_options(options));
  const std::lock_guard one_at_a_time(parts_->writing);
  const std::lock_guard lock(parts_->matching);
  return parts_->set_local(local);
}

Status Processor::Parts::set_local(const LocalTime& local) {
  if (local == table->local()) return log->check_process();
  const LocalTime before = table->local();
  table->set_local(local);
  Status written = checkpoint_locked();
  if (!written.ok()) table->set_local(before);
  return written;
}

Status Processor::acknowledge_loss() {
  const std::lock_guard one_at_a_time(parts_->writing);
  const std::lock_guard lock(parts_->matching);
  if (!parts_->lost)
    return argument_error("an acknowledgement", "a loss that nobody has acknowledged", "processor",
                          "ask report() first");
  parts_->lost = false;
  if (Status written = parts_->checkpoint_locked(); !written.ok()) {
    parts_->lost = true;
    return written;
  }
  parts_->report.lost = false;
  return {};
}

Result<TaskStats> Processor::stats(std::string_view name) const {
  const std::lock_guard matching(parts_->matching);
  const std::lock_guard queues(parts_->queues);
  const Task* task = parts_->table->find(name);
  if (!task)
    return argument_error({"task '", name, "'"}, "an installed task", "stats of the processor",
                          "install it first, or correct its name");
  TaskStats out{.task = std::string(task->name),
                .queue = task->queue.capacity(),
                .when_full = task->queue.when_full(),
                .newest = task->newest,
                .settled = task->queue.settled(),
                .waiting = task->queue.waiting(),
                .in_flight = task->queue.in_flight(),
                .dropped = task->queue.dropped(),
                .coalesced = task->queue.coalesced(),
                .triggers = {},
                .local = local_of(*task)};
  for (const TaskTrigger& t : task->triggers)
    out.triggers.push_back(
        {.name = std::string(t.name), .text = t.compiled.text, .stats = parts_->table->stats_of(t)});
  return out;
}

std::vector<std::string> Processor::tasks() const {
  const std::lock_guard lock(parts_->queues);
  std::vector<std::string> out;
  for (const auto& [name, task] : parts_->table->all()) out.push_back(name);
  return out;
}

Status Processor::declare(const EventDecl& event) {
  const std::lock_guard lock(parts_->matching);
  return parts_->log->declare(event);
}

Result<uint16_t> Processor::page(std::string_view name) {
  const std::lock_guard lock(parts_->matching);
  return parts_->log->page(name);
}

Result<uint16_t> Processor::state(std::string_view name) {
  const std::lock_guard lock(parts_->matching);
  return parts_->log->state(name);
}

const Catalog& Processor::catalog() const { return parts_->log->catalog(); }
EventLog& Processor::log() { return *parts_->log; }
const ProcessorReport& Processor::report() const { return parts_->report; }
int64_t Processor::now() const { return parts_->now.load(std::memory_order_relaxed); }

size_t Processor::memory_bytes() const {
  const std::lock_guard matching(parts_->matching);
  const std::lock_guard queues(parts_->queues);
  return parts_->table->memory_bytes() + parts_->rolling.memory_bytes();
}

}  // namespace walle::stream
