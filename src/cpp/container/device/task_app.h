// TaskApp: walle.app of one task: which functions of the application it may ask, how often, and how long.
//
// Asked by the isolate's own thread, and kept by it, as isolates may end late; take(), resume() and forget()
// between two calls, cancel() from any thread.
#pragma once

#include <utility>
#include <vector>

#include "container/device/app_functions.h"
#include "container/host/app_scope.h"
#include "container/task/task_version.h"

namespace walle::container {

class TaskApp : public AppScope {
 public:
  TaskApp(std::shared_ptr<AppFunctions> functions, std::shared_ptr<const TaskVersion> version)
      : functions_(std::move(functions)), version_(std::move(version)) {
    forget();
  }

  Result<vm::Value> ask(const std::string& name, vm::List arguments) override;

  // Until it ends, by steady_us(); 0: no end.
  void begin_phase(int64_t end_us) { time_.end_us = end_us; }
  void cancel() { time_.cancelled = true; }

  // How often the firing has asked each function of the manifest.
  using Asked = std::vector<uint32_t>;
  Asked take() { return std::exchange(asked_, none()); }
  void resume(Asked asked) {
    asked_ = std::move(asked);
    asked_.resize(version_->manifest.app.size());
  }
  void forget() { asked_ = none(); }

 private:
  Asked none() const { return Asked(version_->manifest.app.size()); }

  const std::shared_ptr<AppFunctions> functions_;
  const std::shared_ptr<const TaskVersion> version_;
  AskTime time_;
  Asked asked_;
};

}  // namespace walle::container
