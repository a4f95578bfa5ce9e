// HotTask: a task that is ready to run: an isolate with its bundle, its model's session, its module's state.
// They stay from firing to firing, until the task gets cold or is replaced.
//
// Used by the worker whose turn the task has. A worker that is given up in a call keeps the HotTask, which is
// why it is shared, and nobody else uses it again.
#pragma once

#include <memory>
#include <optional>

#include "container/device/call_slot.h"
#include "container/device/firing_event.h"
#include "container/device/model_phase.h"
#include "container/device/outgoing.h"
#include "container/device/task_app.h"
#include "container/device/task_rooms.h"
#include "container/host/feature_scope.h"
#include "container/host/firing_scope.h"
#include "container/host/params.h"
#include "container/host/record_scope.h"
#include "container/host/stream_scope.h"
#include "container/host/timer_scope.h"
#include "container/task/task_version.h"
#include "vm/convert.h"
#include "vm/isolate.h"

namespace walle::container {

// Why a phase gave nothing.
struct PhaseFailure {
  vm::Failure failure;
  std::string allowed;  // the limit, for a failure that is one: "1000 ms"
};

class HotTask {
 public:
  static Result<std::shared_ptr<HotTask>> make(TaskRooms& rooms, std::shared_ptr<const TaskVersion> version);
  ~HotTask();

  enum class End : uint8_t { done, failed, lost };  // lost: the worker was given up; it touches nothing more

  // What the last firing appended and sent, and nobody took, is forgotten.
  void begin_scopes();
  // What the last phase gave is the argument of the next; begin() makes it the firing's event, which
  // postprocess may be called with as well.
  // What walle.features answers as of, from now on; begin_scopes() makes it what is newest.
  void look_up_at(stream::RollingMoment at) { features_->begin(at); }
  // What walle.params gives from now on.
  void use(Params params) { params_->values = std::move(params); }
  Status begin(const stream::TaskFiring& firing);
  End call(const std::string& function, const PhaseLimits& limits, CallSlot& slot) {
    return call(function, std::span(value_, 1), limits, slot);
  }
  End call(const std::string& function, std::span<const wvm_value> arguments, const PhaseLimits& limits,
           CallSlot& slot);
  End call_postprocess(CallSlot& slot);
  End run_model(const PhaseLimits& limits, CallSlot& slot);
  // Behind a phase that is done.
  const wvm_value& value() const { return *value_; }
  // Takes the value out of the boundary, to be kept beyond this object's calls; the event, too, where
  // postprocess asks for it. And puts such ones in.
  vm::Value take() const;
  vm::Value take_event() const;
  void resume(const vm::Value& value, const vm::Value& event);
  // Lets go of all that belongs to one firing.
  void end();

  // Runs the graphs of the task's features over the events of the match and sends what they give. What the
  // gate does not let pass is said in the log: whether a feature may leave today is not the task's doing.
  Status send_features(const stream::TaskFiring& firing);
  // What its code has appended and sent since begin_scopes(); nothing is left.
  std::vector<store::TableRows> take_rows() { return scope_->take(); }
  std::vector<stream::Permit> take_sends() { return outgoing_->take(); }
  // And what it has changed in walle.kv, which timers it has set, which events it has recorded, and how often
  // it has asked the application.
  struct Kept {
    FiringState::Changes state, timers;
    std::vector<RecordedEvent> events;
    TaskApp::Asked asked;
  };
  Kept take_kept() { return {state_->take(), timers_->take(), record_->take(), app_->take()}; }
  void resume_kept(const Kept& kept);
  void put_kept(Kept kept, Commit& commit) const;
  // From any thread.
  void cancel() {
    cancelled_.cancel();
    app_->cancel();
    isolate_->cancel();
  }
  PhaseFailure& failure() { return failure_; }
  const TaskVersion& version() const { return *version_; }
  uint64_t heap_bytes() const { return isolate_->stats().heap_bytes; }

 private:
  HotTask(TaskRooms& rooms, std::shared_ptr<const TaskVersion> version)
      : rooms_(rooms), version_(std::move(version)) {}
  void release();
  Status load_model();
  Status make_scopes();
  Status make_kept();
  Status send_feature(const EgressFeature& feature);
  void fail(const wvm_result& result, const PhaseLimits& limits);
  void fail(const Error& error, const PhaseLimits& limits);
  int64_t end_of(const PhaseLimits& limits) const;
  int64_t app_end_of(const PhaseLimits& limits) const;

  TaskRooms& rooms_;
  std::shared_ptr<const TaskVersion> version_;
  std::shared_ptr<FiringScope> scope_;
  std::shared_ptr<Outgoing> outgoing_;
  std::shared_ptr<StreamScope> stream_;
  std::shared_ptr<TaskApp> app_;
  std::shared_ptr<FeatureScope> features_;
  std::shared_ptr<ParamScope> params_ = std::make_shared<ParamScope>();
  std::shared_ptr<FiringState> state_;
  std::shared_ptr<TimerScope> timers_;
  std::shared_ptr<RecordScope> record_;
  vm::TaskContext context_;  // as the isolate's, for host calls that the device makes itself
  std::unique_ptr<vm::Isolate> isolate_;
  std::unique_ptr<ModelPhase> model_;
  runtime::CancelToken cancelled_;
  FiringEvent event_;
  wvm_result result_{};  // of the last call; released by the next or end()
  bool has_result_ = false;
  std::unique_ptr<vm::BoundaryBuilder> resumed_;
  vm::Value resumed_from_, resumed_event_from_;
  wvm_value resumed_value_{}, resumed_event_{};
  const wvm_value* value_ = &result_.value;
  const wvm_value* given_event_ = &event_.value();  // of the firing: as begin() or resume() had it
  PhaseFailure failure_;
};

}  // namespace walle::container
