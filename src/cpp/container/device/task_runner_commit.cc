// What a firing leaves: rows, sends and that it is done, in one frame.
#include "base/log.h"
#include "base/trace.h"
#include "container/device/clock.h"
#include "container/device/in_callback.h"
#include "container/device/result_rows.h"
#include "container/device/task_runner.h"

namespace walle::container {

void TaskRunner::leave_nothing() {
  commit_.rows.clear();
  commit_.sends.clear();
  commit_.state.clear();
  commit_.events.clear();
}

// Into commit_, whose memory is kept from firing to firing.
Status TaskRunner::collect() {
  if (work_.error) {
    leave_nothing();
    work_.rows.clear();
    work_.sends.clear();
    work_.kept = {};
    if (hot_ != nullptr) hot_->begin_scopes();
    return {};
  }
  WALLE_TRY(hot_->send_features(work_.firing));
  commit_.rows = std::exchange(work_.rows, {});
  for (store::TableRows& rows : hot_->take_rows()) commit_.rows.push_back(std::move(rows));
  commit_.sends = std::exchange(work_.sends, {});
  for (stream::Permit& permit : hot_->take_sends()) commit_.sends.push_back(std::move(permit));
  hot_->put_kept(hot_->take_kept(), commit_);
  const std::vector<store::TableDecl>& tables = version_->manifest.tables;
  if (tables.empty()) return {};
  if (commit_decl_.name.empty()) {
    commit_decl_ = tables[0];
    commit_decl_.name = table_name(name_, tables[0].name);
  }
  store::TableRows rows;
  WALLE_TRY(add_rows(hot_->value(), commit_decl_, rooms_.env.wall_us(), rows));
  if (rows.rows != 0) commit_.rows.push_back(std::move(rows));
  return {};
}

TaskRunner::TurnEnd TaskRunner::finish() {
  if (!uncommitted_) {
    mark_.begin(Phase::results);
    const Status collected = collect();
    if (!collected.ok()) {
      leave_nothing();
      fail_phase(Phase::results, collected.error());
    } else if (!work_.error && rooms_.callback() != nullptr) {
      work_.value = hot_->take();
    }
    if (hot_ != nullptr) {
      hot_->end();
      heap_bytes_.store(hot_->heap_bytes(), std::memory_order_relaxed);
    }
    mark_.rest();
    plan_retry();
    uncommitted_ = true;
  }
  const Status written = commit();
  if (!written.ok()) {
    // A full disk passes; the firing has run, and is not run again.
    rooms_.trouble("task '" + name_ + "', firing " + std::to_string(work_.firing.number) +
                   " is done and cannot be written yet: " + written.error().message());
    stalled_.store(true, std::memory_order_relaxed);
    return TurnEnd::idle;
  }
  stalled_.store(false, std::memory_order_relaxed);
  uncommitted_ = false;
  settle();
  tell_listener();
  return TurnEnd::more;
}

Status TaskRunner::commit() {
  const base::TraceSpan span("commit");
  if (commit_.task.empty()) commit_.task = name_;
  Result<uint64_t> frame = rooms_.commits.commit(commit_);
  if (!frame.ok() && frame.error().group() == base::ErrorGroup::argument) {
    // These rows will never be taken: the firing is a failure, which leaves nothing but that it is done.
    fail_phase(Phase::results, frame.error());
    leave_nothing();
    frame = rooms_.commits.commit(commit_);
  }
  if (!frame.ok() && frame.error().group() == base::ErrorGroup::argument) {
    // Not even that it is done: it is by the record, which would say so for ever.
    base::log(base::LogLevel::error, "task '" + name_ + "': " + frame.error().message());
    frame = uint64_t{0};
  }
  WALLE_ASSIGN(frame_, std::move(frame));
  return {};
}

// What its code raised may pass; a limit is met again, and what a table does not take it never will. A firing
// that waits to be tried again is settled, so that it holds nobody up, and lives on in the commits.
void TaskRunner::plan_retry() {
  const bool again = work_.firing.attempt > 1;
  commit_.number = again ? 0 : work_.firing.number;
  commit_.retried = again ? work_.firing.number : 0;
  commit_.retry.clear();
  if (!work_.error || work_.error->limit != vm::Reason::none || work_.error->phase == Phase::start ||
      work_.error->phase == Phase::results || retired())
    return;
  const RetrySpec& spec = version_->manifest.retry;
  if (work_.firing.attempt >= spec.attempts) return;
  const size_t others = rooms_.commits.retries().waiting(name_).count - (again ? 1 : 0);
  if (others >= spec.waiting) {
    work_.error->message +=
        " (not tried again: " + std::to_string(others) + " firings wait for that already)";
    return;
  }
  Retry retry{.firing = work_.firing, .due_us = 0, .delay_us = spec.delay_us(work_.firing.attempt)};
  ++retry.firing.attempt;
  retry.due_us = work_.retry_at_us = rooms_.now_us() + retry.delay_us;
  commit_.retried = work_.firing.number;
  commit_.retry = Retries::pack(retry);
}

void TaskRunner::settle() {
  mark_.end();
  if (work_.firing.attempt == 1) rooms_.processor.settle(name_, work_.firing.number);
  if (work_.retry_at_us != 0) {
    count_attempt();
    return;
  }
  base::trace_counter("firings",
                      static_cast<int64_t>(rooms_.firings.fetch_add(1, std::memory_order_relaxed)) + 1);
  last_used_us_.store(steady_us(), std::memory_order_relaxed);
  if (work_.error) {
    count_failure();
    return;
  }
  failures_in_row_ = 0;
  const std::lock_guard lock(lock_);
  ++info_.firings;
  info_.failures_in_row = 0;
  info_.deaths = 0;
  info_.busy_us += work_.times.preprocess + work_.times.execute + work_.times.postprocess;
}

void TaskRunner::count_attempt() {
  last_used_us_.store(steady_us(), std::memory_order_relaxed);
  const std::string text = work_.error->text() + " (attempt " + std::to_string(work_.firing.attempt) +
                           " of " + std::to_string(version_->manifest.retry.attempts) +
                           "; it is tried again)";
  base::log(base::LogLevel::warning, text);
  const std::lock_guard lock(lock_);
  ++info_.retries;
  info_.deaths = 0;
  info_.busy_us += work_.times.preprocess + work_.times.execute + work_.times.postprocess;
  tell_error(text);
}

// With the lock.
void TaskRunner::tell_error(const std::string& text) {
  info_.error = text;
  info_.error_phase = phase_name(work_.error->phase);
  info_.error_type = work_.error->type;
  info_.error_limit = vm::reason_name(work_.error->limit);
}

void TaskRunner::count_failure() {
  base::trace_counter("failures",
                      static_cast<int64_t>(rooms_.failures.fetch_add(1, std::memory_order_relaxed)) + 1);
  std::string text = work_.error->text();
  // A task that was stopped has not cleaned up behind itself: the next firing gets a fresh isolate.
  if (work_.error->limit != vm::Reason::none) cool();
  base::log(base::LogLevel::warning, text);
  const bool too_many = ++failures_in_row_ >= std::max(1u, version_->manifest.breaker);
  {
    const std::lock_guard lock(lock_);
    ++info_.firings;
    ++info_.failures;
    info_.deaths = 0;
    info_.failures_in_row = failures_in_row_;
    info_.busy_us += work_.times.preprocess + work_.times.execute + work_.times.postprocess;
    tell_error(text);
    // A newer version has not failed yet.
    if (!too_many || next_version_ != nullptr) return;
    set_aside_ = "set aside after " + std::to_string(failures_in_row_) +
                 " failures in a row, until it is replaced; the last one: " + text;
    info_.error = set_aside_;
    text = set_aside_;
  }
  rooms_.set_aside(name_, text);
}

void TaskRunner::tell_listener() {
  const std::shared_ptr<const ResultCallback> callback = rooms_.callback();
  if (callback == nullptr) return;
  TaskResult result;
  result.task = name_;
  result.version = version_->manifest.version;
  result.firing = work_.firing;
  result.error = std::move(work_.error);
  result.value = std::move(work_.value);
  for (const store::TableRows& rows : commit_.rows) result.rows += rows.rows;
  result.sends = static_cast<uint32_t>(commit_.sends.size());
  result.commit = frame_;
  result.times = work_.times;
  result.params = std::move(work_.params);
  result.retry_at_us = work_.retry_at_us;
  result.waited_us = work_.waited_us;
  const InCallback mark(&rooms_.facts);
  (*callback)(result);
}

}  // namespace walle::container
