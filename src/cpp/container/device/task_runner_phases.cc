// The phases of one firing.
#include "base/trace.h"
#include "container/device/clock.h"
#include "container/device/task_runner.h"

namespace walle::container {

// The first phase begins: from the moment that the task had something to do.
void TaskRunner::waited() {
  work_.started = true;
  work_.waited_us = steady_us() - woken_us;
  base::trace_wait("queue wait", woken_us * 1000, static_cast<int64_t>(work_.firing.number));
}

Status TaskRunner::warm() {
  stalled_.store(false, std::memory_order_relaxed);
  if (hot_ == nullptr) {
    WALLE_ASSIGN(hot_, HotTask::make(rooms_, version_));
    is_hot_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(lock_);
    cancellable_ = hot_;
    ++info_.isolates;
  }
  return {};
}

// An event that cannot be read is the firing's failure: it would never be otherwise.
bool TaskRunner::begin() {
  hot_->begin_scopes();
  if (work_.params == nullptr) work_.params = params();
  hot_->use(work_.params);
  hot_->look_up_at({.seq = work_.firing.seq, .ts = work_.firing.ts});
  if (work_.preprocessed) {
    hot_->resume(work_.between, work_.event);
    hot_->resume_kept(work_.kept);
    return true;
  }
  const Status located = rooms_.processor.locate(work_.firing);
  const Status begun = located.ok() ? hot_->begin(work_.firing) : located;
  if (!begun.ok()) fail_phase(Phase::start, begun.error());
  return begun.ok();
}

template <class Call>
HotTask::End TaskRunner::timed(Phase phase, int64_t& us, const Call& call) {
  work_.phase = phase;
  mark_.begin(phase);
  const int64_t begin = steady_us();
  const HotTask::End end = call();
  if (end == HotTask::End::lost) return end;  // work_ is the maintenance thread's
  us = steady_us() - begin;
  if (end == HotTask::End::failed) fail_phase(hot_->failure());
  return end;
}

// `hot` is held by each call's frame: a worker that is lost in it is the last one that has it.
HotTask::End TaskRunner::run_preprocess(CallSlot& slot) {
  const std::shared_ptr<HotTask> hot = hot_;
  const Manifest& manifest = hot->version().manifest;
  if (manifest.preprocess.empty()) return HotTask::End::done;
  const base::TraceSpan span("preprocess");
  return timed(Phase::preprocess, work_.times.preprocess,
               [&] { return hot->call(manifest.preprocess, manifest.preprocess_limits, slot); });
}

HotTask::End TaskRunner::run_execute(CallSlot& slot) {
  const std::shared_ptr<HotTask> hot = hot_;
  const Manifest& manifest = hot->version().manifest;
  const base::TraceSpan span("execute");
  return timed(manifest.phased() ? Phase::execute : Phase::main, work_.times.execute, [&] {
    if (!manifest.execute_model.empty()) return hot->run_model(manifest.execute_limits, slot);
    const std::string& function = manifest.phased() ? manifest.execute_function : manifest.main_function;
    return hot->call(function, manifest.execute_limits, slot);
  });
}

HotTask::End TaskRunner::run_phases(CallSlot& slot) {
  if (!work_.preprocessed) {
    const HotTask::End end = run_preprocess(slot);
    if (end != HotTask::End::done) return end;
  }
  HotTask::End end = run_execute(slot);
  if (end != HotTask::End::done) return end;
  const std::shared_ptr<HotTask> hot = hot_;
  const Manifest& manifest = hot->version().manifest;
  if (manifest.postprocess.empty()) return end;
  const base::TraceSpan span("postprocess");
  return timed(Phase::postprocess, work_.times.postprocess, [&] { return hot->call_postprocess(slot); });
}

void TaskRunner::fail_phase(const PhaseFailure& given) {
  const vm::Failure& failure = given.failure;
  TaskError error;
  error.task = name_;
  error.version = version_->manifest.version;
  error.number = work_.firing.number;
  error.phase = work_.phase;
  error.limit = failure.reason;
  error.allowed = given.allowed;
  error.type = failure.type;
  error.message = failure.message;
  // The innermost line that has a number: library code carries none.
  for (auto frame = failure.traceback.rbegin(); frame != failure.traceback.rend(); ++frame) {
    if (frame->line <= 0) continue;
    error.file = frame->file;
    error.function = frame->function;
    error.line = frame->line;
    error.source = frame->source;
    break;
  }
  error.traceback = failure.text();
  work_.error = std::move(error);
}

void TaskRunner::fail_phase(Phase phase, const Error& error) {
  work_.phase = phase;
  PhaseFailure failure;
  failure.failure.type = "ResultError";
  failure.failure.message = error.message();
  fail_phase(failure);
}

}  // namespace walle::container
