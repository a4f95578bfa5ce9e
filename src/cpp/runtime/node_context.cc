// What a control operator does with its graph goes through here. Operators that it needs itself are lowered
// and folded on the spot, by run_op(): their shapes are another in every round, so a plan would serve once.
#include "runtime/node_context.h"

#include "base/limits.h"
#include "ops/registry.h"
#include "runtime/declared.h"
#include "runtime/fold.h"

namespace walle::runtime {

Status NodeContext::run() {
  if (node_.op == "Identity") {
    output(0, in(0));
    return {};
  }
  const ir::OpDef* def = ops::find_op(node_.op);
  if (!def || !def->control) return internal_error({"no executor for ", node_.op}, "control");
  const auto given = static_cast<int>(node_.inputs.size());
  if (given < def->inputs.min)
    return model_error({given, " inputs"}, {"at least ", def->inputs.min}, "inputs", "connect the inputs");
  WALLE_TRY(def->control(*this));
  return std::move(contradicted_);
}

const ir::RuntimeValue& NodeContext::in(int i) const {
  static const ir::RuntimeValue nothing;
  if (i < 0 || i >= input_count()) return nothing;
  const ir::ValueId id = node_.inputs[i];
  return id == ir::kNone ? nothing : runner_.env_[id];
}

void NodeContext::output(int i, ir::RuntimeValue value) {
  if (i < 0 || i >= output_count()) return;
  const ir::ValueId id = node_.outputs[i];
  if (id == ir::kNone) return;
  if (const Tensor* t = value.tensor(); t && contradicted_.ok())
    contradicted_ = check_dtype(runner_.graph_.at(id), t->dtype());
  runner_.env_[id] = std::move(value);
  runner_.held_.push_back(id);
}

Result<std::vector<ir::RuntimeValue>> NodeContext::run_body(const std::string& body,
                                                            std::vector<ir::RuntimeValue> inputs) {
  const auto graph = node_.attributes.get_graph(body);
  if (!graph)
    return model_error({"no attribute '", body, "'"}, "a graph", "attributes", "convert the model again");
  return runner_.run_body(*graph, std::move(inputs));
}

Result<std::vector<Tensor>> NodeContext::run_op(const std::string& op, const ir::Attributes& attributes,
                                                const std::vector<Tensor>& inputs, int outputs) {
  const ir::OpDef* def = ops::find_op(op);
  if (!def) return internal_error({"no operator ", op}, "control");
  ops::Program program;
  ops::Lowering lowering(program, {nullptr, fold_program, base::kMaxTensorBytes});
  std::vector<ops::Ref> refs;
  for (const Tensor& t : inputs) refs.push_back(t.defined() ? lowering.add_constant(t) : ops::kNoRef);
  WALLE_ASSIGN(const std::vector<ops::Ref> made, lowering.apply(*def, attributes, refs, outputs, node_.name));
  std::vector<Tensor> results;
  for (ops::Ref r : made) {
    if (r < 0 || !program.at(r).constant) return internal_error({op, " was not computed"}, "control");
    results.push_back(*program.at(r).constant);
  }
  return results;
}

}  // namespace walle::runtime
