// Session: a model made ready to run with given options. Plans are made when shapes are first seen and kept.
//
// Thread-safe: runs of one session happen one after the other; runs of different sessions share the process's
// threads.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/explain.h"
#include "runtime/model.h"

namespace walle::runtime {

struct NamedValue {
  std::string name;
  ir::RuntimeValue value;
};

class Session {
 public:
  Session(std::shared_ptr<const Model> model, SessionOptions options,
          std::vector<const backends::Backend*> backends);

  // Values in the order of model().graph().inputs; results in the order of its outputs.
  Result<std::vector<ir::RuntimeValue>> run(std::vector<ir::RuntimeValue> inputs);
  // By name; every graph input once.
  Result<std::vector<ir::RuntimeValue>> run(std::span<const NamedValue> inputs);

  const Model& model() const { return *model_; }
  const SessionOptions& options() const { return shared_.options; }
  ExplainReport explain();
  void start_profile();
  std::vector<ProfileEvent> stop_profile();

 private:
  std::shared_ptr<const Model> model_;
  std::mutex mutex_;
  SharedState shared_;
  GraphRunner runner_;
  std::unique_ptr<Profiler> profiler_;
};

}  // namespace walle::runtime
