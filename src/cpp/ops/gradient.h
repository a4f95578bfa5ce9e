// Reverse-mode differentiation of a program: nodes that compute gradients, behind the nodes that are
// differentiated. Each operator's rule stands in its own file (ir::OpDef::gradient) and emits through the
// same context as its decomposition does.
//
// What is differentiated is made of atoms: only they need rules. A composite is differentiated as what it
// decomposes to, a movement as its rasters, whose gradient is the raster with its views exchanged.
#pragma once

#include "ops/lower.h"

namespace walle::ops {

// What gradient() sees of a node: the operands and attributes of lower(), what the node computed and the
// gradients of that. Its results are the gradients of the operands: result(i, r) for operand i, of its dtype
// and shape; out_shape(i) and out_dtype(i) are the operand's. No result says that the gradient is zero.
class GradientContext : public LowerContext {
 public:
  // `operands` describes the node's inputs, `gradients` has one per output.
  GradientContext(Lowering& lowering, const ProgramNode& node, std::span<const ir::InferOutput> operands,
                  const std::vector<Ref>& gradients, const std::vector<bool>& wanted)
      : LowerContext(lowering, node.attributes, node.inputs, operands, node.origin),
        node_(node),
        gradients_(gradients),
        wanted_(wanted) {}

  const ProgramNode& node() const { return node_; }
  bool wants(int input) const { return has(input) && wanted_[input]; }
  Ref y(int output) const { return output < std::ssize(node_.outputs) ? node_.outputs[output] : kNoRef; }
  // The gradient of an output; kNoRef: zero.
  Ref dy(int output) const { return output < std::ssize(gradients_) ? gradients_[output] : kNoRef; }

 private:
  const ProgramNode& node_;
  const std::vector<Ref>& gradients_;
  const std::vector<bool>& wanted_;
};

// Floats that arithmetic is done in or widened to. Others are positions, flags or codes: what passes through
// them does not vary.
bool differentiable(DType dtype);

// The gradients of the sum of y's elements by each of `xs`, in their dtypes and shapes, through the nodes
// from `first` on. A model error names an operator on the way that has no rule.
Result<std::vector<Ref>> differentiate(Lowering& lowering, size_t first, Ref y, const std::vector<Ref>& xs,
                                       const Origin& origin);

}  // namespace walle::ops
