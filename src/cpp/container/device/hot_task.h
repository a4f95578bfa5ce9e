// A task that is ready to run: an isolate with its bundle, its model's session, its module's state. They stay
// from firing to firing, until the task gets cold or is replaced.
//
// Used by the worker whose turn the task has. A worker that is given up in a call keeps the HotTask, which is
// why it is shared, and nobody else uses it again.
#pragma once

#include <memory>
#include <optional>

#include "container/device/firing_event.h"
#include "container/device/model_phase.h"
#include "container/device/seat.h"
#include "container/device/task_rooms.h"
#include "container/host/stream_scope.h"
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

  // What the last phase gave is the argument of the next; begin() makes it the firing's event.
  Status begin(const stream::TaskFiring& firing);
  End call(const std::string& function, const PhaseLimits& limits, Seat& seat);
  End run_model(const PhaseLimits& limits, Seat& seat);
  // Behind a phase that is done.
  const wvm_value& value() const { return *value_; }
  // Takes the value out of the boundary, to be kept beyond this object's calls, and puts such a one in.
  vm::Value take() const;
  void resume(const vm::Value& value);
  // What the firing has let through the gate; nothing is left.
  std::vector<stream::Permit> take_sends() { return std::exchange(sends_, {}); }
  // Lets go of all that belongs to one firing.
  void end();

  // From any thread.
  void cancel() {
    cancelled_.cancel();
    isolate_->cancel();
  }
  PhaseFailure& failure() { return failure_; }
  const TaskVersion& version() const { return *version_; }
  uint64_t heap_bytes() const { return isolate_->stats().heap_bytes; }

 private:
  HotTask(TaskRooms& rooms, std::shared_ptr<const TaskVersion> version)
      : rooms_(rooms), version_(std::move(version)) {}
  void release();
  void open_stream(vm::TaskContext& context);
  Status load_model();
  void fail(const wvm_result& result, const PhaseLimits& limits);
  void fail(const Error& error, const PhaseLimits& limits);
  int64_t end_of(const PhaseLimits& limits) const;

  TaskRooms& rooms_;
  std::shared_ptr<const TaskVersion> version_;
  std::unique_ptr<vm::Isolate> isolate_;
  std::unique_ptr<ModelPhase> model_;
  runtime::CancelToken cancelled_;
  std::shared_ptr<StreamScope> stream_;
  std::vector<stream::Permit> sends_;
  FiringEvent event_;
  wvm_result result_{};  // of the last call; released by the next or end()
  bool has_result_ = false;
  std::unique_ptr<vm::BoundaryBuilder> resumed_;
  vm::Value resumed_from_;
  wvm_value resumed_value_{};
  const wvm_value* value_ = &result_.value;
  PhaseFailure failure_;
};

}  // namespace walle::container
