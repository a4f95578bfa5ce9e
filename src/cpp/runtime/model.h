// Model: a verified graph with its constants folded; immutable and shared by any number of sessions and
// threads.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"
#include "ir/runtime_value.h"
#include "runtime/options.h"
#include "runtime/prepared_constants.h"

namespace walle::runtime {

class Session;

struct ModelOptions {
  bool fold = true;
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  static Result<std::shared_ptr<Model>> create(ir::ModelData data, const ModelOptions& options = {});

  const ir::ModelData& data() const { return data_; }
  const ir::Graph& graph() const { return data_.graph; }
  PreparedConstants& prepared() const { return prepared_; }

  // An argument or backend error for unknown options.
  Result<std::unique_ptr<Session>> session(const SessionOptions& options) const;

  // Dtype, rank and fixed dimensions as declared, one size per symbol over all inputs; inputs in graph order.
  Status check_inputs(const std::vector<ir::RuntimeValue>& inputs) const;

 private:
  explicit Model(ir::ModelData data) : data_(std::move(data)) {}
  ir::ModelData data_;
  mutable PreparedConstants prepared_;
};

}  // namespace walle::runtime
