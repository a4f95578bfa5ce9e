// ModelPhase: an execute phase that is just a model: the engine runs it on what preprocess returned, and
// Python is not entered. One session per hot task, whose plans stay from firing to firing.
//
// Used by one thread at a time. What run() gives holds until the next run() or the end of the object.
#pragma once

#include <memory>

#include "container/host/engine_models.h"
#include "vm/abi.h"
#include "vm/task_file.h"

namespace walle::container {

class ModelPhase {
 public:
  static Result<std::unique_ptr<ModelPhase>> load(const vm::Resource& model);
  ~ModelPhase();

  // `inputs`: {input's name: tensor}, or the tensor itself for a model with one input. Gives {output's name:
  // tensor}. An error of group timeout where it takes longer than `wall_ms`; 0: as long as it takes.
  Result<wvm_value> run(const wvm_value& inputs, uint32_t wall_ms, const runtime::CancelToken& cancel);

 private:
  ModelPhase() = default;
  Result<runtime::Session::Values> values_of(const wvm_value& inputs) const;
  void release();

  EngineModels models_;
  runtime::Session* session_ = nullptr;
  std::vector<wvm_value> outputs_;  // names and tensors
};

}  // namespace walle::container
