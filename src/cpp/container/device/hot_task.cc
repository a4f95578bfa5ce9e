#include "container/device/hot_task.h"

#include "base/log.h"
#include "container/device/clock.h"
#include "container/host/slots.h"
#include "container/host/task_state.h"

namespace walle::container {

namespace {

std::function<void(base::LogLevel, std::string_view)> log_of(const DeviceOptions& options,
                                                             const std::string& task) {
  if (options.log)
    return [log = options.log, task](base::LogLevel level, std::string_view line) { log(task, level, line); };
  return [task](base::LogLevel level, std::string_view line) {
    if (base::log_enabled(level)) base::log(level, "task '" + task + "': " + std::string(line));
  };
}

std::string allowed_of(vm::Reason reason, const PhaseLimits& limits, const Manifest& manifest) {
  switch (reason) {
    case vm::Reason::wall:
    case vm::Reason::abandoned: return std::to_string(limits.wall_ms) + " ms";
    case vm::Reason::cpu: return std::to_string(limits.cpu_ms) + " ms";
    case vm::Reason::heap: return std::to_string(manifest.heap_bytes) + " bytes";
    default: return "";
  }
}

}  // namespace

Result<std::shared_ptr<HotTask>> HotTask::make(TaskRooms& rooms, std::shared_ptr<const TaskVersion> version) {
  std::shared_ptr<HotTask> made(new HotTask(rooms, std::move(version)));
  const Manifest& manifest = made->version_->manifest;
  vm::TaskContext context;
  context.log = log_of(rooms.options, manifest.name);
  if (!rooms.kv_dir.empty()) {
    WALLE_ASSIGN(std::shared_ptr<TaskState> state,
                 TaskState::open(rooms.kv_dir + "/" + manifest.name, manifest.state_bytes));
    context.set(kKvSlot, std::move(state));
  }
  made->open_stream(context);
  WALLE_ASSIGN(made->isolate_, rooms.pool.take(made->version_->limits, std::move(context)));
  WALLE_TRY(made->isolate_->attach(made->version_->bundle));
  rooms.hot.fetch_add(1, std::memory_order_relaxed);
  return made;
}

// What the gate lets pass leaves with the firing's rows, in one commit. A call that is given up goes on with
// an object that nobody commits.
void HotTask::open_stream(vm::TaskContext& context) {
  const std::string& task = version_->manifest.name;
  stream_ = std::make_shared<StreamScope>(
      rooms_.processor.log(), task,
      [this, &gate = rooms_.commits.gate()](const std::string& feature, const stream::TracedBatch& rows) {
        auto permit = gate.permit(version_->manifest.name, feature, rows);
        if (!permit.ok()) return Status(permit.take_error());
        sends_.push_back(std::move(permit).value());
        return Status();
      });
  context.set(kStreamSlot, stream_);
}

HotTask::~HotTask() {
  end();
  if (isolate_ != nullptr) rooms_.hot.fetch_sub(1, std::memory_order_relaxed);
}

void HotTask::release() {
  if (has_result_) isolate_->release(result_);
  has_result_ = false;
}

void HotTask::end() {
  release();
  if (stream_ != nullptr) stream_->begin();
  sends_.clear();
  resumed_.reset();
  resumed_from_ = {};
}

Status HotTask::begin(const stream::TaskFiring& firing) {
  WALLE_TRY(event_.fill(firing, rooms_.processor));
  value_ = &event_.value();
  return {};
}

// A limit that nobody set leaves the worker to the call for ever: what has no end cannot be past it.
int64_t HotTask::end_of(const PhaseLimits& limits) const {
  if (limits.wall_ms == 0) return 0;
  return steady_us() + (int64_t{limits.wall_ms} + rooms_.options.grace_ms) * 1000;
}

HotTask::End HotTask::call(const std::string& function, const PhaseLimits& limits, Seat& seat) {
  isolate_->limit_time(limits.wall_ms, limits.cpu_ms);
  wvm_result result;
  seat.enter(end_of(limits));
  isolate_->invoke_plain(version_->manifest.module.c_str(), function.c_str(), std::span(value_, 1), result);
  if (!seat.leave()) {
    isolate_->release(result);
    return End::lost;
  }
  if (!result.ok) {
    fail(result, limits);
    isolate_->release(result);
    return End::failed;
  }
  // The argument may be the last result: let go of only now.
  release();
  result_ = result;
  has_result_ = true;
  value_ = &result_.value;
  return End::done;
}

Status HotTask::load_model() {
  if (model_ != nullptr) return {};
  WALLE_ASSIGN(model_, ModelPhase::load(*version_->model));
  return {};
}

HotTask::End HotTask::run_model(const PhaseLimits& limits, Seat& seat) {
  seat.enter(end_of(limits));
  const Status loaded = load_model();
  Result<wvm_value> outputs =
      loaded.ok() ? model_->run(*value_, limits.wall_ms, cancelled_) : Result<wvm_value>(loaded.error());
  if (!seat.leave()) return End::lost;
  if (!outputs.ok()) {
    fail(outputs.error(), limits);
    return End::failed;
  }
  release();
  result_.value = *outputs;
  value_ = &result_.value;
  return End::done;
}

vm::Value HotTask::take() const { return vm::incoming(*value_); }

void HotTask::resume(const vm::Value& value) {
  resumed_from_ = value;
  resumed_ = std::make_unique<vm::BoundaryBuilder>();
  resumed_value_ = vm::visit(resumed_from_, *resumed_);
  value_ = &resumed_value_;
}

void HotTask::fail(const wvm_result& result, const PhaseLimits& limits) {
  vm::Outcome outcome = isolate_->outcome_of(result);
  failure_.failure = std::move(*outcome.failure);
  failure_.allowed = allowed_of(failure_.failure.reason, limits, version_->manifest);
}

void HotTask::fail(const Error& error, const PhaseLimits& limits) {
  const bool late = error.group() == base::ErrorGroup::timeout;
  failure_.failure = vm::Failure{.type = late ? "LimitExceeded" : "ModelError", .message = error.message()};
  const bool cancelled = error.group() == base::ErrorGroup::cancelled;
  failure_.failure.reason = late ? vm::Reason::wall : cancelled ? vm::Reason::cancelled : vm::Reason::none;
  failure_.allowed = late ? allowed_of(vm::Reason::wall, limits, version_->manifest) : "";
}

}  // namespace walle::container
