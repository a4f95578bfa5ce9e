#include "runtime/segment.h"

#include <algorithm>

#include "ops/registry.h"

namespace walle::runtime {

bool Segment::matches(const Environment& env) const {
  for (const LiveIn& in : live_ins) {
    const Tensor* t = env[in.id].tensor();
    if (!t || t->dtype() != in.dtype || !(t->shape() == in.shape)) return false;
  }
  return std::ranges::all_of(dependencies, [&](const ValueDependency& d) {
    const Tensor* t = env[d.id].tensor();
    return t && t->identical(d.value);
  });
}

bool is_executor_node(const ir::Graph& graph, const ir::Node& node, const Environment& env) {
  const ir::OpDef* def = ops::find_op(node.op);
  if (def && def->op_class == ir::OpClass::control) return true;
  // Identity is the one operator of ONNX that takes tensors, sequences and optionals alike; what a loop
  // carries often has no declared kind, so the value that is there is asked as well.
  if (node.op != "Identity" || node.inputs.size() != 1 || node.inputs[0] == ir::kNone) return false;
  const ir::ValueId id = node.inputs[0];
  return graph.at(id).kind != ir::ValueKind::tensor || env[id].sequence() != nullptr;
}

}  // namespace walle::runtime
