// One walk forward finds which values depend on xs, one backward sums up their gradients: a value's readers
// come behind it in a topological order, so its sum is complete when its own node is reached. Nothing is
// emitted for what does not depend on xs or does not lead to y: frozen weights cost nothing.
#include "ops/gradient.h"

#include <algorithm>

#include "ops/rules/views.h"

namespace walle::ops {

bool differentiable(DType dtype) { return tensor::is_native_float(dtype) || tensor::is_half_float(dtype); }

namespace {
class Reverse {
 public:
  Reverse(Lowering& lowering, size_t first, const std::vector<Ref>& xs)
      : lowering_(lowering), first_(first), last_(lowering.program().nodes.size()) {
    varies_.assign(program().values.size(), false);
    for (Ref x : xs) varies_[x] = true;
    for (size_t n = first_; n < last_; ++n) {
      const ProgramNode& node = program().nodes[n];
      if (std::ranges::none_of(node.inputs, [&](Ref r) { return varies(r); })) continue;
      for (Ref r : node.outputs)
        if (r >= 0 && differentiable(program().at(r).dtype)) varies_[r] = true;
    }
    sums_.assign(program().values.size(), kNoRef);
  }

  bool varies(Ref r) const { return r >= 0 && r < std::ssize(varies_) && varies_[r]; }
  Ref sum(Ref r) const { return sums_[r]; }

  Status run(Ref y, Ref seed) {
    sums_[y] = seed;
    for (size_t n = last_; n-- > first_;) {
      // A copy: what the rule emits may move the nodes.
      const ProgramNode node = program().nodes[n];
      if (Status s = pull(node); !s.ok())
        return s.take_error().within(
            {"the gradient of node '", node.origin.text(), "' (", node.op->name, ")"});
    }
    return {};
  }

 private:
  Program& program() const { return lowering_.program(); }

  // From the gradients of a node's outputs to those of its inputs.
  Status pull(const ProgramNode& node) {
    std::vector<Ref> gradients;
    bool any = false;
    for (Ref r : node.outputs) {
      gradients.push_back(r < 0 ? kNoRef : sums_[r]);
      // Where nothing was computed there is nothing to hand back.
      any = any || (gradients.back() >= 0 && program().at(r).shape.elements() > 0);
    }
    std::vector<bool> wanted;
    for (Ref r : node.inputs) wanted.push_back(varies(r));
    if (!any || std::ranges::find(wanted, true) == wanted.end()) return {};
    if (!node.op->gradient) return no_rule(*node.op);
    std::vector<ir::InferOutput> operands;
    for (Ref r : node.inputs)
      operands.push_back(r < 0 ? ir::InferOutput{}
                               : ir::InferOutput{program().at(r).dtype, program().at(r).shape, {}});
    GradientContext context(lowering_, node, operands, gradients, wanted);
    WALLE_TRY(node.op->gradient(context));
    WALLE_ASSIGN(const std::vector<Ref> results, context.finish());
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] >= 0 && wanted[i]) WALLE_TRY(add(node, node.inputs[i], results[i]));
    return {};
  }

  static Error no_rule(const ir::OpDef& op) {
    return model_error({op.name, ", which has no gradient: ", op.no_gradient},
                       "operators with a gradient between x and y", "",
                       "compute it outside of what is differentiated, from values that do not depend on x");
  }

  // Every reader of a value adds its share.
  Status add(const ProgramNode& node, Ref input, Ref share) {
    const ProgramValue& value = program().at(input);
    const ProgramValue& given = program().at(share);
    if (given.dtype != value.dtype || given.shape != value.shape)
      return internal_error({"a gradient ", dtype_name(given.dtype), given.shape.text(), " of ",
                             dtype_name(value.dtype), value.shape.text()},
                            {"operator ", node.op->name});
    Ref& sum = sums_[input];
    if (sum >= 0) {
      LowerContext c(lowering_, none_, no_inputs_, {}, node.origin);
      share = c.add(sum, share);
      WALLE_TRY(c.finish().status());
    }
    sum = share;
    return {};
  }

  Lowering& lowering_;
  size_t first_;
  size_t last_;  // where the nodes that are differentiated end
  std::vector<bool> varies_;
  std::vector<Ref> sums_;  // the gradient of a value so far
  const ir::Attributes none_;
  const std::vector<Ref> no_inputs_;
};
}  // namespace

Result<std::vector<Ref>> differentiate(Lowering& lowering, size_t first, Ref y, const std::vector<Ref>& xs,
                                       const Origin& origin) {
  // Copies: values are added below.
  const DType dtype = lowering.program().at(y).dtype;
  const Shape shape = lowering.program().at(y).shape;
  if (!differentiable(dtype))
    return model_error({"y of ", dtype_name(dtype)}, "floats", {"node '", origin.text(), "'"},
                       "differentiate a loss that is computed in floats");
  const ir::Attributes none;
  const std::vector<Ref> no_inputs;
  LowerContext c(lowering, none, no_inputs, {}, origin);
  Reverse reverse(lowering, first, xs);
  if (reverse.varies(y)) WALLE_TRY(reverse.run(y, expand_to(c, c.scalar(dtype, 1), shape)));
  std::vector<Ref> gradients;
  for (Ref x : xs) {
    const ProgramValue& value = lowering.program().at(x);
    const Ref sum = reverse.sum(x);
    gradients.push_back(sum >= 0 ? sum : zeros(c, value.dtype, value.shape));
  }
  WALLE_TRY(c.finish().status());
  return gradients;
}

}  // namespace walle::ops
