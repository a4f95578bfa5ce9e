// NodeContext: the executor's side of a control operator.
#pragma once

#include "ops/control_context.h"
#include "runtime/graph_runner.h"

namespace walle::runtime {

class NodeContext final : public ops::ControlContext {
 public:
  NodeContext(GraphRunner& runner, const ir::Node& node) : runner_(runner), node_(node) {}

  Status run();

  const ir::Attributes& attrs() const override { return node_.attributes; }
  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  const ir::RuntimeValue& in(int i) const override;
  int output_count() const override { return static_cast<int>(node_.outputs.size()); }
  void output(int i, ir::RuntimeValue value) override;
  Result<std::vector<ir::RuntimeValue>> run_body(const std::string& body,
                                                 std::vector<ir::RuntimeValue> inputs) override;
  Result<std::vector<Tensor>> run_op(const std::string& op, const ir::Attributes& attributes,
                                     const std::vector<Tensor>& inputs, int outputs) override;

 private:
  GraphRunner& runner_;
  const ir::Node& node_;
  Status contradicted_;  // an output that is not what the graph declares
};

}  // namespace walle::runtime
