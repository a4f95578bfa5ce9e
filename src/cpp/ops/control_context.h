// What a control operator sees: run-time values and the means to run its bodies. An interface, because the
// executor that implements it stands floors above the operators.
//
// One context serves one run of one node; not shared between threads. Values are passed by value: a tensor is
// a handle, so a Loop carries its state from body to body without copying.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/runtime_value.h"

namespace walle::ops {

class ControlContext {
 public:
  virtual ~ControlContext() = default;

  virtual const ir::Attributes& attrs() const = 0;
  virtual int input_count() const = 0;
  virtual const ir::RuntimeValue& in(int i) const = 0;  // empty for omitted inputs
  virtual int output_count() const = 0;                 // as the node lists them, omitted ones included
  virtual void output(int i, ir::RuntimeValue value) = 0;

  // Runs the graph attribute `body` with these inputs (formal inputs, then captures).
  virtual Result<std::vector<ir::RuntimeValue>> run_body(const std::string& body,
                                                         std::vector<ir::RuntimeValue> inputs) = 0;

  // Runs one operator of the table on tensors (ConcatFromSequence uses Concat, SplitToSequence uses Slice).
  virtual Result<std::vector<Tensor>> run_op(const std::string& op, const ir::Attributes& attributes,
                                             const std::vector<Tensor>& inputs, int outputs) = 0;
};

}  // namespace walle::ops
