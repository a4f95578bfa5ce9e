// What happens at every event: append, match, number what fires, put it into queues, tell who waits for it.
#include <algorithm>

#include "base/trace.h"
#include "stream/processor/processor_parts.h"

namespace walle::stream {

void ReadyTasks::add(std::string_view task) {
  // Names are interned: equal ones are one.
  const auto same = [&](std::string_view known) { return known.data() == task.data(); };
  if (std::any_of(few_.begin(), few_.begin() + static_cast<ptrdiff_t>(size_), same)) return;
  if (size_ < few_.size()) {
    few_[size_++] = task;
  } else if (std::ranges::none_of(more_, same)) {
    more_.push_back(task);
  }
}

TaskFiring FiringPlaces::place(const Firing& f, const MatchPlace& place,
                               const TaskTable::Owner& owner) const {
  const Where& at = f.seq == current_.seq ? current_ : before_;
  // 63 bits, so that it is the same number where integers have a sign: in scripts, in columns of tables.
  TaskFiring out{.key = f.idempotency & uint64_t{INT64_MAX},
                 .trigger_name = owner.trigger,
                 .seq = f.seq,
                 .ts = f.ts,
                 .start_ts = f.start_ts,
                 .session = at.session,
                 .page_instance = at.page_instance,
                 .scope = owner.scope,
                 .start_nth = f.start_nth,
                 .last = f.last};
  if (place.scope == Scope::page) out.page_instance = place.key;
  if (place.scope == Scope::session) out.session = place.key - 1;
  return out;
}

namespace {
// A track per task: firings that wait. Under `queues`.
void trace_depth(const Task& task) {
  if (!base::trace_enabled()) [[likely]]
    return;
  base::trace_counter(base::trace_name("queue of " + std::string(task.name)),
                      static_cast<int64_t>(task.queue.waiting()));
}
}  // namespace

void Processor::Parts::fired(const Firing& f, const MatchPlace& place) {
  const TaskTable::Owner& owner = table->owner(f.trigger);
  TaskFiring out = places.place(f, place, owner);
  const std::lock_guard lock(queues);
  out.number = ++owner.task->newest;
  owner.task->queue.push(out);
  trace_depth(*owner.task);
  ready.add(owner.task->name);
}

void Processor::Parts::step(const Event& recorded) {
  Matcher& matcher = table->matcher();
  const base::TraceSpan span("match", static_cast<int64_t>(recorded.seq));
  base::trace_counter("events", static_cast<int64_t>(recorded.seq));
  places.begin(recorded);
  // Before what fires: a task that asks at once finds the event counted.
  rolling.feed(recorded, log->catalog());
  seen.store(recorded.seq, std::memory_order_relaxed);
  now.store(recorded.ts, std::memory_order_relaxed);
  if (recorded.ts >= matcher.last_ts()) [[likely]] {
    matcher.step(recorded, *this);
  } else {
    // Only where the log has lost events that a checkpoint had seen: matching takes times in order for
    // granted.
    Event in_order = recorded;
    in_order.ts = matcher.last_ts();
    matcher.step(in_order, *this);
  }
  places.end(recorded, log->catalog());
}

// Outside of all locks: whoever is told may call back.
void Processor::Parts::tell(const ReadyTasks& told) const {
  if (told.empty()) return;
  std::shared_ptr<const Ready> to;
  {
    const std::lock_guard lock(queues);
    to = on_ready;
  }
  if (to) told.each([&](std::string_view task) { (*to)(task); });
}

Result<Event> Processor::record(const Event& event, bool durable) {
  ReadyTasks told;
  Result<Event> recorded = [&] {
    const std::lock_guard lock(parts_->matching);
    // The log calls step() itself: also where the sync behind it fails.
    auto out = parts_->log->append(event, durable);
    if (!parts_->ready.empty()) [[unlikely]]
      std::swap(told, parts_->ready);
    return out;
  }();
  parts_->tell(told);
  return recorded;
}

Status Processor::advance(int64_t now) {
  Event timer;
  timer.ts = now;
  {
    const std::lock_guard lock(parts_->matching);
    const Matcher& matcher = parts_->table->matcher();
    const std::optional<int64_t> due = matcher.next_deadline();
    if (due ? *due > now : !matcher.awaits_clock()) return parts_->log->check_process();
    timer.event = *parts_->log->catalog().find_event("timer");  // built in
  }
  return record(timer).status();
}

std::optional<int64_t> Processor::next_deadline() const {
  const std::lock_guard lock(parts_->matching);
  return parts_->table->matcher().next_deadline();
}

void Processor::on_ready(std::function<void(std::string_view)> ready) {
  ReadyTasks waiting;
  {
    const std::lock_guard lock(parts_->queues);
    parts_->on_ready = ready ? std::make_shared<const Parts::Ready>(std::move(ready)) : nullptr;
    for (const auto& [name, task] : parts_->table->all())
      if (task->queue.waiting()) waiting.add(task->name);
  }
  parts_->tell(waiting);
}

bool Processor::take(std::string_view name, TaskFiring& out) {
  const std::lock_guard lock(parts_->queues);
  Task* task = parts_->table->find(name);
  if (!task || !task->queue.take(out)) return false;
  trace_depth(*task);
  const auto at = std::ranges::find_if(
      task->triggers, [&](const TaskTrigger& t) { return t.name.data() == out.trigger_name.data(); });
  out.trigger = at == task->triggers.end() ? kNoTrigger : static_cast<uint32_t>(at - task->triggers.begin());
  return true;
}

void Processor::settle(std::string_view name, uint64_t number) {
  const std::lock_guard lock(parts_->queues);
  Task* task = parts_->table->find(name);
  // What has not fired yet cannot be done: such a number would swallow firings to come.
  if (task) task->queue.settle(std::min(number, task->newest));
}

}  // namespace walle::stream
