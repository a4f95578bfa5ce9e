#include "ops/inline_graph.h"

#include "ops/registry.h"

namespace walle::ops {

namespace {
Status check_inlines(const ir::Node& node, const ir::OpDef* op) {
  if (!op)
    return model_error({"operator '", node.op, "'"}, "an operator of the table", ir::describe(node),
                       "see `walle inspect ops`");
  if (op->op_class == ir::OpClass::control)
    return model_error({op->name, ", which the executor runs step by step"},
                       "operators that are planned together", ir::describe(node),
                       "compute it outside of what is differentiated");
  return {};
}
}  // namespace

Result<std::vector<Ref>> inline_graph(Lowering& lowering, const ir::Graph& graph,
                                      const std::vector<Ref>& inputs) {
  std::vector<Ref> refs(graph.values.size(), kNoRef);
  for (size_t i = 0; i < refs.size(); ++i)
    if (const auto& constant = graph.values[i].constant) refs[i] = lowering.add_constant(*constant);
  for (size_t i = 0; i < graph.inputs.size(); ++i) refs[graph.inputs[i]] = inputs[i];
  for (const ir::Node& node : graph.nodes) {
    const ir::OpDef* op = find_op(node.op);
    WALLE_TRY(check_inlines(node, op));
    std::vector<Ref> operands;
    for (const ir::ValueId id : node.inputs) operands.push_back(id == ir::kNone ? kNoRef : refs[id]);
    if (Status s = check_inputs(*op, operands); !s.ok()) return s.take_error().within(ir::describe(node));
    WALLE_ASSIGN(
        const std::vector<Ref> made,
        lowering.apply(*op, node.attributes, operands, static_cast<int>(node.outputs.size()), node.name));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNone) refs[node.outputs[i]] = made[i];
  }
  std::vector<Ref> results;
  for (const ir::ValueId id : graph.outputs) results.push_back(refs[id]);
  return results;
}

}  // namespace walle::ops
