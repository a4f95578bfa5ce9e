#include "runtime/infer_shapes.h"

#include "ops/registry.h"

namespace walle::runtime {

namespace {
Result<std::optional<TypedNode>> infer(SegmentBuilder& segment, const ir::Node& node, const ir::OpDef& op) {
  std::vector<ops::Ref> inputs;
  std::vector<ir::InferInput> seen;
  for (ir::ValueId id : node.inputs) {
    WALLE_ASSIGN(inputs.emplace_back(), segment.operand(id));
    seen.push_back(segment.lowering().infer_input(inputs.back()));
  }
  WALLE_TRY(ops::check_inputs(op, inputs));
  // To a shape rule a value is there or missing. Why specialising failed - no memory - is kept here.
  Status failure;
  ir::InferContext context(node.attributes, seen, static_cast<int>(node.outputs.size()), [&](int i) {
    auto value = segment.specialise(node.inputs[i], inputs[i]);
    if (!value.ok()) failure = value.status();
    seen[i].constant = value.ok() ? *value : nullptr;
    if (inputs[i] >= 0) seen[i].sizes = segment.lowering().infer_input(inputs[i]).sizes;
    return seen[i].constant;
  });
  Status status = op.infer(context);
  if (!failure.ok()) return failure.take_error();
  if (!status.ok()) {
    if (context.missing()) return std::optional<TypedNode>();
    return status.take_error();
  }
  const auto outputs = context.outputs();
  return std::optional<TypedNode>(TypedNode{
      .node = node, .op = op, .inputs = std::move(inputs), .outputs = {outputs.begin(), outputs.end()}});
}
}  // namespace

Result<std::optional<TypedNode>> infer_shapes(SegmentBuilder& segment, const ir::Node& node) {
  const ir::OpDef* op = ops::find_op(node.op);
  if (!op)
    return model_error({"operator '", node.op, "'"}, "an operator of the table", ir::describe(node),
                       "see `walle inspect ops`");
  auto typed = infer(segment, node, *op);
  if (!typed.ok()) return Error(typed.error()).within(ir::describe(node));
  return typed;
}

}  // namespace walle::runtime
