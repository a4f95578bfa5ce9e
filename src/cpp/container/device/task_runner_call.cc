// What an app asks a task: Device::call.
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/trace.h"
#include "container/device/clock.h"
#include "container/device/task_runner.h"

namespace walle::container {

Result<const CallSpec*> TaskRunner::called(const std::string& function) const {
  std::vector<std::string> names;
  for (const CallSpec& spec : version_->manifest.calls) {
    if (spec.function == function) return &spec;
    names.push_back(spec.function);
  }
  return argument_error({"function '", function, "'"}, {"one that task '", name_, "' names in [call]"},
                        "Device.call", base::did_you_mean(function, names, "add it to the task's task.toml"))
      .of_kind(base::ErrorKind::no_such_key);
}

Result<vm::Value> TaskRunner::answer(const std::string& function, std::span<const vm::Value> arguments,
                                     std::optional<int64_t> end_us, bool& more) {
  const base::TraceSpan span("call");
  if (uncommitted_) more = finish() == TurnEnd::more;
  if (uncommitted_)
    return resource_error({"a firing of task '", name_, "' that cannot be written yet"}, "room on the disk",
                          "Device.call", "free disk space and ask again");
  adopt();
  more = more || !parked_.empty() || !again_.empty();
  if (!can_run()) {
    const std::lock_guard lock(lock_);
    return task_error({"task '", name_, "', which does not run: ", info_.error}, "a task that runs",
                      "Device.call", "install it again");
  }
  WALLE_ASSIGN(const CallSpec* spec, called(function));
  WALLE_TRY(check_arguments(*spec, arguments, {"call of '", function, "'"}));
  PhaseLimits limits = spec->limits;
  if (end_us) {
    const int64_t left_us = *end_us - steady_us();
    if (left_us <= 0)
      return timeout_error({"a call of '", function, "' that has not begun"},
                           "its turn within the time given", "Device.call", "allow more time");
    limits.wall_ms = static_cast<uint32_t>(std::min<int64_t>(limits.wall_ms, (left_us + 999) / 1000));
  }
  mark_.begin(Phase::start);
  const Status warmed = warm();
  Result<vm::Value> answered =
      warmed.ok() ? run_call(*spec, arguments, limits) : Result<vm::Value>(warmed.error());
  mark_.rest();
  return answered;
}

Result<vm::Value> TaskRunner::run_call(const CallSpec& spec, std::span<const vm::Value> arguments,
                                       const PhaseLimits& limits) {
  const std::shared_ptr<HotTask> hot = hot_;
  vm::BoundaryBuilder builder;
  std::vector<wvm_value> plain;
  plain.reserve(arguments.size());
  for (const vm::Value& argument : arguments) plain.push_back(vm::visit(argument, builder));
  hot->begin_scopes();
  hot->use(params());
  mark_.begin(Phase::call);
  // The caller's own thread: nobody is there who could give it up, so a call ends when its native code does.
  CallSlot slot;
  const int64_t begin = steady_us();
  const HotTask::End end = hot->call(spec.function, plain, limits, slot);
  last_used_us_.store(steady_us(), std::memory_order_relaxed);
  {
    const std::lock_guard lock(lock_);
    ++info_.calls;
    info_.busy_us += steady_us() - begin;
  }
  if (end != HotTask::End::done) return fail_call(hot->failure(), limits.wall_ms < spec.limits.wall_ms);
  Result<vm::Value> answered = take_answer(spec);
  hot->end();
  heap_bytes_.store(hot->heap_bytes(), std::memory_order_relaxed);
  if (!answered.ok()) {
    PhaseFailure failure;
    failure.failure.type = "ResultError";
    failure.failure.message = answered.error().message();
    return fail_call(failure, false);
  }
  failures_in_row_ = 0;
  return answered;
}

Result<vm::Value> TaskRunner::take_answer(const CallSpec& spec) {
  vm::Value value = hot_->take();
  if (!is_of(value, spec.returns))
    return task_error({"an answer of '", spec.function, "' that is no ", call_type_name(spec.returns)},
                      "what [call] says that it returns", {"task '", name_, "'"}, "correct one of both");
  WALLE_TRY(keep_of_call(spec));
  return value;
}

// Rows, sends and changes of the task's state, in a frame that settles no firing.
Status TaskRunner::keep_of_call(const CallSpec& spec) {
  Commit commit{.task = name_,
                .number = 0,
                .rows = hot_->take_rows(),
                .sends = hot_->take_sends(),
                .retry = {},
                .state = {},
                .events = {},
                .only_if = {}};
  hot_->put_kept(hot_->take_kept(), commit);
  const bool leaves = !commit.rows.empty() || !commit.sends.empty() || !commit.events.empty();
  if (!leaves && commit.state.empty()) return {};
  if (leaves && !spec.keep)
    return task_error({"rows, sends or events of '", spec.function, "'"}, "a call that only answers",
                      {"task '", name_, "'"}, {"add keep = true to [call.", spec.function, "]"});
  return rooms_.commits.commit(commit).status();
}

// Counts for the breaker like a firing's, but for one that the caller's own time or the closing device has
// ended.
Error TaskRunner::fail_call(const PhaseFailure& failure, bool cut_short) {
  work_.firing = {};
  work_.phase = Phase::call;
  fail_phase(failure);
  const TaskError told = *std::exchange(work_.error, std::nullopt);
  const std::string text = told.text();
  if (hot_ != nullptr) {
    hot_->begin_scopes();
    hot_->end();
  }
  if (told.limit != vm::Reason::none) cool();
  const bool cancelled = told.limit == vm::Reason::cancelled;
  if (!cancelled && !(cut_short && told.limit == vm::Reason::wall)) ++failures_in_row_;
  const bool too_many = failures_in_row_ >= std::max(1u, version_->manifest.breaker);
  std::string aside;
  {
    const std::lock_guard lock(lock_);
    ++info_.call_failures;
    info_.failures_in_row = failures_in_row_;
    info_.error = text;
    info_.error_phase = phase_name(Phase::call);
    info_.error_type = told.type;
    info_.error_limit = vm::reason_name(told.limit);
    if (too_many && next_version_ == nullptr) {
      aside = "set aside after " + std::to_string(failures_in_row_) +
              " failures in a row, until it is replaced; the last one: " + text;
      set_aside_ = info_.error = aside;
    }
  }
  base::log(base::LogLevel::warning, text);
  if (!aside.empty()) rooms_.set_aside(name_, aside);
  if (told.limit == vm::Reason::wall)
    return timeout_error({"a call of task '", name_, "' that was not done: ", text},
                         {"at most ", told.allowed}, "Device.call",
                         "allow more time, in the call and in [call]");
  if (cancelled) return cancelled_error({"a call of task '", name_, "'"}, "Device.call");
  return task_error(text, "a function that returns", "Device.call", "see the traceback in the task's log");
}

}  // namespace walle::container
