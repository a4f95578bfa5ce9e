#include "container/device/device_core.h"

#include <algorithm>

#include "base/log.h"
#include "base/names.h"
#include "base/nearest_name.h"
#include "container/device/clock.h"

namespace walle::container {

Status DeviceCore::check_open() const {
  if (open_.load(std::memory_order_acquire)) return {};
  return resource_error("a device that was closed", "an open device", "Device", "open the folder again");
}

Result<stream::Event> DeviceCore::record(const stream::Event& event, bool durable) {
  WALLE_TRY(check_open());
  Result<stream::Event> recorded = processor_->record(event, durable);
  maintenance_->poke();
  return recorded;
}

Status DeviceCore::declare(const stream::EventDecl& event) {
  WALLE_TRY(check_open());
  return processor_->declare(event);
}

Result<uint16_t> DeviceCore::page(std::string_view name) {
  WALLE_TRY(check_open());
  return processor_->page(name);
}

Result<uint16_t> DeviceCore::state(std::string_view name) {
  WALLE_TRY(check_open());
  return processor_->state(name);
}

void DeviceCore::on_result(std::function<void(const TaskResult&)> callback) {
  rooms_->on_result(std::move(callback));
}

Status DeviceCore::set_fact(const std::string& name, bool holds) {
  WALLE_TRY(base::check_name(base::NameKind::fact, name, "facts of the device"));
  if (!facts_.set(name, holds) || !holds || !check_open().ok()) return {};
  const std::shared_lock lock(tasks_lock_);
  for (const auto& [_, runner] : tasks_) {
    if (runner->wants_facts()) queue_.wake(*runner, steady_us());
  }
  return {};
}

Status DeviceCore::set_local(const std::optional<stream::LocalTime>& local) {
  WALLE_TRY(check_open());
  WALLE_TRY(processor_->set_local(local ? *local : stream::LocalTime::host()));
  maintenance_->poke();  // something may be due earlier
  return {};
}

DeviceCore::Runner DeviceCore::find(std::string_view name) const {
  const std::shared_lock lock(tasks_lock_);
  const auto found = tasks_.find(name);
  return found == tasks_.end() ? nullptr : found->second;
}

DeviceCore::Runner DeviceCore::find_or_make(const std::string& name) {
  const std::unique_lock lock(tasks_lock_);
  Runner& runner = tasks_[name];
  if (runner == nullptr) runner = std::make_shared<TaskRunner>(*rooms_, name);
  return runner;
}

size_t DeviceCore::task_count() const {
  const std::shared_lock lock(tasks_lock_);
  return tasks_.size();
}

Error DeviceCore::unknown(const std::string& name) const {
  std::vector<std::string> names;
  {
    const std::shared_lock lock(tasks_lock_);
    for (const auto& [known, runner] : tasks_) {
      if (!runner->retired()) names.push_back(known);
    }
  }
  return argument_error({"task '", name, "'"}, "an installed task", "Device",
                        base::did_you_mean(name, names, "install it first"))
      .of_kind(base::ErrorKind::no_such_key);
}

Result<vm::Value> DeviceCore::call(const std::string& task, const std::string& function,
                                   std::span<const vm::Value> arguments,
                                   std::optional<std::chrono::microseconds> patience) {
  WALLE_TRY(check_open());
  const Runner runner = find(task);
  if (runner == nullptr || runner->retired()) return unknown(task);
  const int64_t begin = steady_us();
  if (!queue_.borrow(*runner, patience)) {
    WALLE_TRY(check_open());
    return timeout_error({"a call of task '", task, "' that waited ", (steady_us() - begin) / 1000, " ms"},
                         "its turn within the time given", "Device.call", "allow more time");
  }
  std::optional<int64_t> end_us;
  if (patience) end_us = begin + patience->count();
  bool more = false;
  const int64_t turn = steady_us();
  Result<vm::Value> answered = runner->answer(function, arguments, end_us, more);
  const int64_t now = steady_us();
  queue_.give_back(*runner, now - turn, now, more);
  return answered;
}

std::vector<TaskInfo> DeviceCore::tasks() const {
  const std::shared_lock lock(tasks_lock_);
  std::vector<TaskInfo> out;
  for (const auto& [name, runner] : tasks_) {
    if (!runner->retired()) out.push_back(runner->info(queue_.state(*runner)));
  }
  return out;
}

Result<TaskInfo> DeviceCore::task(const std::string& name) const {
  const Runner runner = find(name);
  if (runner == nullptr || runner->retired()) return unknown(name);
  return runner->info(queue_.state(*runner));
}

DeviceStats DeviceCore::stats() const {
  DeviceStats out;
  {
    const std::shared_lock lock(tasks_lock_);
    for (const auto& [_, runner] : tasks_) out.tasks += runner->retired() ? 0 : 1;
  }
  out.hot = rooms_->hot.load(std::memory_order_relaxed);
  out.workers = workers_.count();
  out.firings = rooms_->firings.load(std::memory_order_relaxed);
  out.failures = rooms_->failures.load(std::memory_order_relaxed);
  out.lost_workers = rooms_->lost_workers.load(std::memory_order_relaxed);
  out.last_event = processor_->log().last_seq();
  out.trouble = rooms_->trouble();
  return out;
}

bool DeviceCore::wait_idle(int64_t timeout_us) { return queue_.wait_idle(std::max<int64_t>(timeout_us, 0)); }

void DeviceCore::trim() { cool_down(0, 0, 0); }

Status DeviceCore::advance(int64_t now_us) {
  WALLE_TRY(check_open());
  rooms_->advanced_us.store(now_us, std::memory_order_relaxed);
  const Status advanced = advance_to(now_us);
  wake_due();
  return advanced;
}

// Of triggers and timers.
std::optional<int64_t> DeviceCore::next_event() const {
  const std::optional<int64_t> one = processor_->next_deadline(), other = timers_->next_due();
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

std::optional<int64_t> DeviceCore::next_deadline() const {
  std::optional<int64_t> out = next_event();
  const std::shared_lock lock(tasks_lock_);
  for (const auto& [_, runner] : tasks_) {
    const std::optional<int64_t> due = runner->next_retry_us();
    if (due && (!out || *due < *out)) out = due;
  }
  return out;
}

// Tasks with a firing that is to be tried again now.
void DeviceCore::wake_due() {
  const int64_t now = rooms_->now_us();
  const std::shared_lock lock(tasks_lock_);
  for (const auto& [_, runner] : tasks_)
    if (runner->retry_due(now)) wake(*runner);
}

// Recorded time passes from one thing that is due to the next; a clock that has gone on has only its now.
Status DeviceCore::advance_to(int64_t now_us) {
  const bool recorded = options_.processor.log.recorded_times;
  for (std::optional<int64_t> due = timers_->next_due(); due && *due <= now_us; due = timers_->next_due()) {
    const int64_t at = recorded ? std::max(*due, processor_->now()) : now_us;
    if (recorded) WALLE_TRY(processor_->advance(at));
    WALLE_TRY(timers_->fire(recorded ? *due : now_us, at));
  }
  return processor_->advance(now_us);
}

Status DeviceCore::maintain() {
  WALLE_TRY(check_open());
  return keep_up();
}

// Also while it closes.
Status DeviceCore::keep_up() {
  const Status logged = processor_->maintain();
  const Status written = commits_->maintain();
  const Status& failed = logged.ok() ? written : logged;
  if (!failed.ok()) {
    rooms_->trouble(failed.error().message());
  } else if (!wake_stalled()) {
    rooms_->trouble("");
  }
  cool_down(options_.cold_after_us, options_.hot_tasks, options_.hot_bytes);
  return failed;
}

// Those that could not start or write try again; whether there are any.
bool DeviceCore::wake_stalled() {
  const std::shared_lock lock(tasks_lock_);
  bool any = false;
  for (const auto& [_, runner] : tasks_) {
    if (!runner->stalled()) continue;
    any = true;
    queue_.wake(*runner, steady_us());
  }
  return any;
}

// The one that was used longest ago goes first.
void DeviceCore::cool_down(int64_t longest_us, size_t most, uint64_t most_bytes) {
  std::vector<Runner> hot;
  uint64_t bytes = 0;
  {
    const std::shared_lock lock(tasks_lock_);
    for (const auto& [_, runner] : tasks_) {
      if (!runner->hot()) continue;
      hot.push_back(runner);
      bytes += runner->heap_bytes();
    }
  }
  std::ranges::sort(hot, {}, &TaskRunner::last_used_us);
  const int64_t now = steady_us();
  size_t left = hot.size();
  for (const Runner& runner : hot) {
    const bool cold = now - runner->last_used_us() >= longest_us;
    if (!cold && left <= most && bytes <= most_bytes) break;
    if (!queue_.claim(*runner)) continue;  // busy: not a cold one
    bytes -= std::min(bytes, runner->heap_bytes());
    --left;
    runner->cool();
    queue_.release(*runner, steady_us(), false);
  }
}

bool DeviceCore::watch() {
  if (workers_.keep_watch() != 0) return true;
  const uint64_t newest = processor_->log().last_seq();
  const bool news = seen_event_.exchange(newest) != newest;
  if (options_.background) wake_due();
  if (options_.background && !options_.processor.log.recorded_times) {
    const std::optional<int64_t> due = next_event();
    const int64_t now = env_.wall_us();
    if (due && *due <= now) {
      if (const Status advanced = advance_to(now); !advanced.ok())
        rooms_->trouble(advanced.error().message());
      return true;
    }
  }
  return news || workers_.any_busy() || queue_.queued() != 0 || rooms_->hot.load() != 0;
}

int64_t DeviceCore::sleeps_us() const {
  constexpr int64_t kHourUs = int64_t{3600} * 1'000'000;
  if (!options_.background || options_.processor.log.recorded_times) return kHourUs;
  const std::optional<int64_t> due = next_deadline();
  return due ? *due - env_.wall_us() : kHourUs;
}

void DeviceCore::set_aside(const std::string& name, const std::string& why) {
  const std::lock_guard lock(installing_);
  const Runner runner = find(name);
  const auto entry = registry_->tasks().find(name);
  // Replaced since.
  if (runner == nullptr || entry == registry_->tasks().end() || !runner->is_set_aside()) return;
  InstalledTask changed = entry->second;
  changed.set_aside = why;
  const Status kept = registry_->put(name, std::move(changed));
  if (!kept.ok())
    base::log(base::LogLevel::warning,
              "task '" + name + "' is set aside, until a restart: " + kept.error().message());
}

}  // namespace walle::container
