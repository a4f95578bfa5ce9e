#include "container/device/task_runner.h"

#include "base/log.h"
#include "container/device/clock.h"

namespace walle::container {

void TaskRunner::replace(std::shared_ptr<const TaskVersion> version, Mark mark, Params params,
                         TaskFeatures features) {
  const std::lock_guard lock(lock_);
  if (!info_.version.empty()) ++info_.replaced;
  info_.version = version->manifest.version;
  info_.package = version->package;
  info_.priority = version->manifest.priority;
  next_params_ = std::move(params);
  features_ = std::move(features);
  info_.error.clear();
  info_.error_phase.clear();
  info_.error_type.clear();
  info_.error_limit.clear();
  info_.deaths = 0;
  set_aside_.clear();
  broken_ = retired_ = false;
  next_version_ = std::move(version);
  next_mark_ = mark;
}

void TaskRunner::set_params(Params params) {
  const std::lock_guard lock(lock_);
  (next_version_ ? next_params_ : params_) = std::move(params);
}

Params TaskRunner::params() const {
  const std::lock_guard lock(lock_);
  return params_;
}

TaskFeatures TaskRunner::features() const {
  const std::lock_guard lock(lock_);
  return features_;
}

std::shared_ptr<const TaskVersion> TaskRunner::newest() const {
  const std::lock_guard lock(lock_);
  return next_version_ ? next_version_ : adopted_;
}

std::string TaskRunner::fell(const Deaths& deaths) {
  const std::lock_guard lock(lock_);
  info_.deaths = deaths.count;
  // Counted before: this time the device was closed.
  if (!deaths.phase) return {};
  const std::string times = deaths.count == 1 ? "" : std::to_string(deaths.count) + " times in a row ";
  std::string text = "the process ended " + times + "while phase '" + std::string(phase_name(*deaths.phase)) +
                     "' ran: the system killed it for its memory, perhaps, or native code did";
  info_.error_phase = phase_name(*deaths.phase);
  info_.error_type = "ProcessDied";
  const bool too_many = deaths.count >= std::max(1u, next_version_->manifest.breaker);
  if (too_many) set_aside_ = text = "set aside, until it is replaced: " + text;
  info_.error = text;
  return set_aside_;
}

void TaskRunner::retire() {
  const std::lock_guard lock(lock_);
  next_version_ = adopted_ = nullptr;
  features_.clear();
  info_ = {};
  set_aside_.clear();
  retired_ = drop_taken_ = true;
}

bool TaskRunner::is_set_aside() const {
  const std::lock_guard lock(lock_);
  return !set_aside_.empty();
}

bool TaskRunner::retired() const {
  const std::lock_guard lock(lock_);
  return retired_;
}

void TaskRunner::set_broken(std::string version, std::string why) {
  const std::lock_guard lock(lock_);
  info_.version = std::move(version);
  info_.error = std::move(why);
  broken_ = true;
}

void TaskRunner::set_aside(std::string why) {
  const std::lock_guard lock(lock_);
  info_.error = why;
  set_aside_ = std::move(why);
}

TaskInfo TaskRunner::info(RunQueue::State state) const {
  TaskInfo out;
  std::shared_ptr<const TaskVersion> version;
  {
    const std::lock_guard lock(lock_);
    out = info_;
    out.status = broken_               ? TaskStatus::broken
                 : !set_aside_.empty() ? TaskStatus::set_aside
                                       : TaskStatus::idle;
    version = next_version_ ? next_version_ : adopted_;
    out.params = next_version_ ? next_params_ : params_;
  }
  for (const TaskFeature& each : features())
    out.features.push_back({.name = each.name, .stats = each.feature->stats()});
  out.name = name_;
  const Retries::Waiting retrying = rooms_.commits.retries().waiting(name_);
  out.retrying = retrying.count;
  out.next_retry_us = retrying.next_us.value_or(0);
  out.hot = hot();
  out.heap_bytes = heap_bytes();
  if (version) {
    out.missing_facts = rooms_.facts.missing(version->manifest.requires_facts);
    out.question = version->manifest.cloud.question;
    out.answers = version->manifest.cloud.answers;
  }
  if (out.status == TaskStatus::idle) {
    if (state == RunQueue::State::queued) out.status = TaskStatus::queued;
    if (state == RunQueue::State::running || state == RunQueue::State::running_woken)
      out.status = TaskStatus::running;
    if (out.status == TaskStatus::idle && wants_facts()) out.status = TaskStatus::waiting;
  }
  Result<stream::TaskStats> queue = rooms_.processor.stats(name_);
  if (queue.ok()) out.queue = std::move(queue).value();
  return out;
}

// What was preprocessed by the version before begins anew: phases of two versions never mix.
void TaskRunner::adopt() {
  {
    const std::lock_guard lock(lock_);
    if (drop_taken_) {
      again_.clear();
      parked_.clear();
      drop_taken_ = false;
    }
    if (next_version_ == nullptr) return;
    version_ = adopted_ = std::move(next_version_);
    mark_ = next_mark_;
    params_ = std::move(next_params_);
    info_.failures_in_row = 0;
    info_.parked = 0;
  }
  failures_in_row_ = 0;
  commit_decl_ = {};
  cool();
  for (auto work = parked_.rbegin(); work != parked_.rend(); ++work) again_.push_front(work->firing);
  parked_.clear();
}

// With the lock.
bool TaskRunner::runs() const { return !broken_ && !retired_ && set_aside_.empty(); }

bool TaskRunner::can_run() const {
  const std::lock_guard lock(lock_);
  return version_ != nullptr && runs();
}

bool TaskRunner::retry_due(int64_t now_us) const {
  return next_retry_us() && rooms_.commits.retries().due(name_, now_us);
}

// None while it would not be run: whoever waits for it would be woken for nothing, again and again.
std::optional<int64_t> TaskRunner::next_retry_us() const {
  {
    const std::lock_guard lock(lock_);
    if (!runs() || wants_facts()) return std::nullopt;
  }
  return rooms_.commits.retries().waiting(name_).next_us;
}

void TaskRunner::clear_work() {
  work_.phase = Phase::start;
  work_.preprocessed = work_.started = false;
  work_.error.reset();
  work_.between = work_.event = {};
  work_.value = {};
  work_.rows.clear();
  work_.sends.clear();
  work_.kept = {};
  work_.times = {};
  work_.params = nullptr;
  work_.retry_at_us = 0;
}

bool TaskRunner::next_retry() {
  const std::optional<Retry> retry = rooms_.commits.retries().take(name_, rooms_.now_us());
  if (!retry) return false;
  clear_work();
  work_.firing = retry->firing;
  return true;
}

bool TaskRunner::next_firing() {
  clear_work();
  if (!again_.empty()) {
    work_.firing = again_.front();
    again_.pop_front();
    return true;
  }
  return rooms_.processor.take(name_, work_.firing);
}

TaskRunner::TurnEnd TaskRunner::turn(CallSlot& slot) {
  // Before anything of a new version: what is written now is the old one's.
  if (uncommitted_) {
    const TurnEnd end = finish();
    if (uncommitted_) return end;
  }
  adopt();
  if (!can_run()) {
    cool();
    return TurnEnd::idle;
  }
  if (rooms_.facts.all(version_->manifest.requires_facts)) {
    waits_for_facts_.store(false, std::memory_order_relaxed);
    return run_firing(slot);
  }
  // Before the first look: a fact that is set from now on finds it waiting.
  if (!waits_for_facts_.exchange(true)) return TurnEnd::more;
  return version_->manifest.preprocess.empty() ? TurnEnd::idle : park_firing(slot);
}

TaskRunner::TurnEnd TaskRunner::run_firing(CallSlot& slot) {
  if (next_retry()) {
    // Before those that wait: it is older than they are, and its time has come.
  } else if (!parked_.empty()) {
    work_ = std::move(parked_.front());
    parked_.pop_front();
    const std::lock_guard lock(lock_);
    info_.parked = parked_.size();
  } else if (!next_firing()) {
    return TurnEnd::idle;
  }
  if (!work_.started) {
    waited();
  }
  if (!work_.error) {
    mark_.begin(Phase::start);
    Status warmed = warm();
    if (!warmed.ok()) return retry_later(warmed.error());
    if (begin() && run_phases(slot) == HotTask::End::lost) return TurnEnd::lost;
    if (was_cancelled()) {
      put_back();
      return TurnEnd::idle;
    }
  }
  return finish();
}

// A failure waits as well: settling it would settle those before it.
TaskRunner::TurnEnd TaskRunner::park_firing(CallSlot& slot) {
  if (parked_.size() >= kMaxParked || !next_firing()) return TurnEnd::idle;
  waited();
  mark_.begin(Phase::start);
  Status warmed = warm();
  if (!warmed.ok()) return retry_later(warmed.error());
  if (begin()) {
    const HotTask::End end = run_preprocess(slot);
    if (end == HotTask::End::lost) return TurnEnd::lost;
    if (was_cancelled()) {
      put_back();
      return TurnEnd::idle;
    }
    work_.preprocessed = end == HotTask::End::done;
    if (work_.preprocessed) {
      work_.between = hot_->take();
      work_.event = hot_->take_event();
      work_.rows = hot_->take_rows();
      work_.sends = hot_->take_sends();
      work_.kept = hot_->take_kept();
    }
  }
  hot_->end();
  mark_.rest();
  parked_.push_back(std::move(work_));
  const std::lock_guard lock(lock_);
  info_.parked = parked_.size();
  return TurnEnd::more;
}

// Nothing of the firing has happened: it is run when there is room again.
TaskRunner::TurnEnd TaskRunner::retry_later(const Error& error) {
  rooms_.trouble("task '" + name_ + "' cannot start: " + error.message());
  put_back();
  stalled_.store(true, std::memory_order_relaxed);
  return TurnEnd::idle;
}

bool TaskRunner::was_cancelled() const { return work_.error && work_.error->limit == vm::Reason::cancelled; }

void TaskRunner::put_back() {
  mark_.rest();
  work_.error.reset();
  if (work_.preprocessed)
    parked_.push_front(std::move(work_));
  else
    again_.push_front(work_.firing);
}

void TaskRunner::cancel() {
  std::shared_ptr<HotTask> hot;
  {
    const std::lock_guard lock(lock_);
    hot = cancellable_;
  }
  if (hot != nullptr) hot->cancel();
}

void TaskRunner::cool() {
  {
    const std::lock_guard lock(lock_);
    cancellable_.reset();
  }
  hot_.reset();
  is_hot_.store(false, std::memory_order_relaxed);
  heap_bytes_.store(0, std::memory_order_relaxed);
}

void TaskRunner::lose_worker() {
  PhaseFailure failure;
  failure.failure.type = "Abandoned";
  failure.failure.message =
      "the call passed its time inside native code that cannot be stopped; its worker was given up";
  failure.failure.reason = vm::Reason::abandoned;
  const Manifest& manifest = version_->manifest;
  const PhaseLimits& limits = work_.phase == Phase::preprocess    ? manifest.preprocess_limits
                              : work_.phase == Phase::postprocess ? manifest.postprocess_limits
                                                                  : manifest.execute_limits;
  failure.allowed = std::to_string(limits.wall_ms) + " ms";
  cool();
  fail_phase(failure);
  rooms_.lost_workers.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(lock_);
    ++info_.lost_workers;
  }
  // One that was to wait for facts waits with its failure, behind those before it.
  if (work_.phase == Phase::preprocess && !parked_.empty())
    parked_.push_back(std::move(work_));
  else
    (void)finish();
}

}  // namespace walle::container
