#include "container/device/hot_task.h"

#include <algorithm>

#include "base/log.h"
#include "base/unreached.h"
#include "container/device/clock.h"
#include "container/device/in_callback.h"
#include "container/device/task_features.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"

namespace walle::container {

namespace {

std::function<void(base::LogLevel, std::string_view)> log_of(const TaskRooms& rooms,
                                                             const std::string& task) {
  return [log = rooms.options.log, task, device = &rooms.facts](base::LogLevel level, std::string_view line) {
    const InCallback mark(device);
    if (log) return log(task, level, line);
    if (base::log_enabled(level)) base::log(level, "task '" + task + "': " + std::string(line));
  };
}

std::string allowed_of(vm::Reason reason, const PhaseLimits& limits, const Manifest& manifest) {
  switch (reason) {
    case vm::Reason::wall:
    case vm::Reason::abandoned: return std::to_string(limits.wall_ms) + " ms";
    case vm::Reason::cpu: return std::to_string(limits.cpu_ms) + " ms";
    case vm::Reason::heap: return std::to_string(manifest.heap_bytes) + " bytes";
    case vm::Reason::none:
    case vm::Reason::cancelled:
    case vm::Reason::stack:
    case vm::Reason::imports:
    case vm::Reason::host_call: return "";
  }
  return base::unreached("");
}

}  // namespace

Result<std::shared_ptr<HotTask>> HotTask::make(TaskRooms& rooms, std::shared_ptr<const TaskVersion> version) {
  std::shared_ptr<HotTask> made(new HotTask(rooms, std::move(version)));
  const Manifest& manifest = made->version_->manifest;
  made->context_.log = log_of(rooms, manifest.name);
  WALLE_TRY(made->make_scopes());
  WALLE_ASSIGN(made->isolate_, rooms.pool.take(made->version_->limits, made->context_));
  WALLE_TRY(made->isolate_->attach(made->version_->bundle));
  made->context_.bundles.push_back(made->version_->bundle);
  rooms.hot.fetch_add(1, std::memory_order_relaxed);
  return made;
}

// What its code finds behind walle.kv, walle.results and walle.stream. They outlive this object where the
// isolate does, which ends on a thread of its own.
Status HotTask::make_scopes() {
  const Manifest& manifest = version_->manifest;
  WALLE_TRY(make_kept());
  std::vector<ScopeTable> tables;
  for (const store::TableDecl& decl : manifest.tables) {
    tables.push_back({.name = decl.name, .decl = decl});
    tables.back().decl.name = table_name(manifest.name, decl.name);
  }
  scope_ = std::make_shared<FiringScope>(rooms_.commits.tables(), std::move(tables), rooms_.env);
  outgoing_ = std::make_shared<Outgoing>(rooms_.commits.gate(), manifest.name, manifest.priority,
                                         manifest.cloud.question, version_->package);
  stream_ = std::make_shared<StreamScope>(
      rooms_.processor.log(), manifest.name,
      [out = outgoing_](const std::string& feature, const stream::TracedBatch& rows) {
        return out->send(feature, rows);
      });
  WALLE_ASSIGN(TaskFeatures features, features_of(rooms_.processor, manifest));
  features_ = std::make_shared<FeatureScope>(rooms_.processor.log(), std::move(features), [rooms = &rooms_] {
    return rooms->processor.newest(rooms->now_us());
  });
  context_.set(kFeaturesSlot, features_);
  context_.set(kResultsSlot, scope_);
  context_.set(kStreamSlot, stream_);
  app_ = std::make_shared<TaskApp>(rooms_.app, version_);
  context_.set(kAppSlot, std::shared_ptr<AppScope>(app_));
  context_.set(kParamsSlot, params_);
  return {};
}

Status HotTask::make_kept() {
  const Manifest& manifest = version_->manifest;
  store::StateMaps& maps = rooms_.commits.maps();
  const FiringState::Clock clock = [commits = &rooms_.commits] { return commits->now_us(); };
  WALLE_ASSIGN(std::shared_ptr<store::StateMap> map, maps.open(manifest.name));
  state_ = std::make_shared<FiringState>(
      std::move(map), FiringState::Limits{.bytes = manifest.state_bytes, .keys = manifest.state_keys}, clock);
  WALLE_ASSIGN(std::shared_ptr<store::StateMap> timers, maps.open(kTimersMap));
  timers_ = std::make_shared<TimerScope>(std::move(timers), manifest.name, manifest.timer_names,
                                         manifest.timers_most, clock);
  WALLE_ASSIGN(std::shared_ptr<store::StateMap> counts, maps.open(kRecordsMap));
  std::vector<stream::EventDecl> events;
  for (const stream::EventDecl& event : manifest.events)
    if (std::ranges::find(manifest.record_events, event.name) != manifest.record_events.end())
      events.push_back(event);
  record_ = std::make_shared<RecordScope>(
      std::move(counts), manifest.name, std::move(events),
      RecordScope::Limits{.per_firing = manifest.record_per_firing, .per_day = manifest.record_per_day},
      clock);
  context_.set(kKvSlot, std::shared_ptr<TaskState>(state_));
  context_.set(kTimersSlot, timers_);
  context_.set(kRecordSlot, record_);
  return {};
}

void HotTask::resume_kept(const Kept& kept) {
  state_->resume(kept.state);
  timers_->resume(kept.timers);
  record_->resume(kept.events);
  app_->resume(kept.asked);
}

void HotTask::put_kept(Kept kept, Commit& commit) const {
  const std::string& task = version_->manifest.name;
  commit.state.clear();
  for (auto& [key, bytes] : kept.state) commit.state.push_back({task, key, std::move(bytes)});
  for (auto& [key, bytes] : kept.timers) commit.state.push_back({kTimersMap, key, std::move(bytes)});
  if (!kept.events.empty())
    commit.state.push_back({kRecordsMap, task, record_->count_with(kept.events.size())});
  commit.events = std::move(kept.events);
}

Status HotTask::send_features(const stream::TaskFiring& firing) {
  bool filled = false;
  for (const EgressFeature& feature : version_->manifest.features) {
    if (feature.graph.empty()) continue;
    if (!filled) WALLE_TRY(event_.fill(firing, rooms_.processor));
    filled = true;
    WALLE_TRY(send_feature(feature));
  }
  return {};
}

Status HotTask::send_feature(const EgressFeature& feature) {
  vm::BoundaryBuilder values;
  const wvm_value run[] = {values.text(feature.graph), event_.value()};
  WALLE_ASSIGN(const vm::Value handle, host::stream_run_call(context_, run));
  const wvm_value rows = values.integer(*handle.get<int64_t>());
  WALLE_ASSIGN(const vm::Value size, host::stream_size_call(context_, std::span(&rows, 1)));
  if (*size.get<int64_t>() == 0) return {};
  const wvm_value send[] = {values.text(feature.policy.feature), rows};
  const Result<vm::Value> sent = host::stream_send_call(context_, send);
  if (sent.ok()) return {};
  if (sent.error().group() != base::ErrorGroup::task) return sent.error();
  if (context_.log) context_.log(base::LogLevel::warning, sent.error().message());
  return {};
}

void HotTask::begin_scopes() {
  scope_->forget();
  state_->forget();
  timers_->forget();
  record_->forget();
  app_->forget();
  outgoing_->forget();
  stream_->begin();
  features_->begin(std::nullopt);
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
  resumed_.reset();
  resumed_from_ = resumed_event_from_ = {};
}

Status HotTask::begin(const stream::TaskFiring& firing) {
  WALLE_TRY(event_.fill(firing, rooms_.processor));
  value_ = given_event_ = &event_.value();
  return {};
}

// A limit that nobody set leaves the worker to the call for ever: what has no end cannot be past it.
int64_t HotTask::end_of(const PhaseLimits& limits) const {
  if (limits.wall_ms == 0) return 0;
  return steady_us() + (int64_t{limits.wall_ms} + rooms_.options.grace_ms) * 1000;
}

// A little behind the isolate's own limit, which is what the task is to be told of, and before its worker is
// given up.
int64_t HotTask::app_end_of(const PhaseLimits& limits) const {
  constexpr int64_t kBehindMs = 200;
  if (limits.wall_ms == 0) return 0;
  return steady_us() + (limits.wall_ms + std::min(kBehindMs, int64_t{rooms_.options.grace_ms} / 2)) * 1000;
}

HotTask::End HotTask::call(const std::string& function, std::span<const wvm_value> arguments,
                           const PhaseLimits& limits, CallSlot& slot) {
  isolate_->limit_time(limits.wall_ms, limits.cpu_ms);
  app_->begin_phase(app_end_of(limits));
  wvm_result result;
  slot.enter(end_of(limits));
  isolate_->invoke_plain(version_->manifest.module.c_str(), function.c_str(), arguments, result);
  if (!slot.leave()) {
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

HotTask::End HotTask::call_postprocess(CallSlot& slot) {
  const Manifest& manifest = version_->manifest;
  const wvm_value arguments[] = {*value_, *given_event_};
  return call(manifest.postprocess, std::span(arguments, manifest.postprocess_event ? 2 : 1),
              manifest.postprocess_limits, slot);
}

Status HotTask::load_model() {
  if (model_ != nullptr) return {};
  WALLE_ASSIGN(model_, ModelPhase::load(*version_->model));
  return {};
}

HotTask::End HotTask::run_model(const PhaseLimits& limits, CallSlot& slot) {
  slot.enter(end_of(limits));
  const Status loaded = load_model();
  Result<wvm_value> outputs =
      loaded.ok() ? model_->run(*value_, limits.wall_ms, cancelled_) : Result<wvm_value>(loaded.error());
  if (!slot.leave()) return End::lost;
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

vm::Value HotTask::take_event() const {
  return version_->manifest.postprocess_event ? vm::incoming(*given_event_) : vm::Value();
}

void HotTask::resume(const vm::Value& value, const vm::Value& event) {
  resumed_from_ = value;
  resumed_event_from_ = event;
  resumed_ = std::make_unique<vm::BoundaryBuilder>();
  resumed_value_ = vm::visit(resumed_from_, *resumed_);
  resumed_event_ = vm::visit(resumed_event_from_, *resumed_);
  value_ = &resumed_value_;
  given_event_ = &resumed_event_;
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
