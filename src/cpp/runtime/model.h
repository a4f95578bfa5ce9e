// Model: a verified graph with its constants folded; immutable and shared by any number of sessions and
// threads.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/runtime_value.h"
#include "runtime/model_constants.h"
#include "runtime/options.h"

namespace walle::runtime {

class Session;

using Names = std::vector<std::string>;

struct ModelOptions {
  bool fold = true;
};

// An input, by name, that becomes a state, the result that is its next contents, and what it begins with.
struct StateSpec {
  std::string input;
  std::string output;
  Tensor value;
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  static Result<std::shared_ptr<Model>> create(ir::ModelData data, const ModelOptions& options = {});

  // Constants folded, overridable inputs among them; as they were in a model with states.
  const ir::ModelData& data() const { return data_; }
  const ir::Graph& graph() const { return data_.graph; }
  // What sessions run: with states as inputs and results behind the others, folded where graph() is not.
  const ir::Graph& running() const { return running_ ? *running_ : data_.graph; }
  // What a file of this model holds: folded too, but for a model with overridable inputs or states.
  const ir::ModelData& stored() const { return unfolded_ ? *unfolded_ : data_; }
  ModelConstants& constants() const { return constants_; }

  // The model with these overridable inputs, named in the order of graph().overridable, behind its other
  // inputs. Nothing that depends on them is folded.
  Result<std::shared_ptr<const Model>> with_inputs(const Names& overridden) const;

  // The model in which inputs are states: their next contents are results, which it no longer gives.
  Result<std::shared_ptr<const Model>> with_states(std::span<const StateSpec> states) const;

  // An argument or backend error for unknown options.
  Result<std::unique_ptr<Session>> session(const SessionOptions& options) const;

  // Dtype, rank and fixed dimensions as declared, one size per symbol over all inputs; inputs in graph order.
  Status check_inputs(const std::vector<ir::RuntimeValue>& inputs) const;

 private:
  Model(ir::ModelData data, const ModelOptions& options) : data_(std::move(data)), options_(options) {}
  ir::ModelData data_;
  ModelOptions options_;
  std::optional<ir::ModelData> unfolded_;  // of a model with overridable inputs
  std::optional<ir::Graph> running_;       // of a model with states
  mutable ModelConstants constants_;
};

}  // namespace walle::runtime
