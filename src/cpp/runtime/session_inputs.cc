// What a session makes of inputs before a run, or a plan ahead of it: their order, the graph that takes them,
// and what is wrong with them.
#include <algorithm>

#include "runtime/session.h"
#include "runtime/value_names.h"

namespace walle::runtime {

Result<Session::ByOrder> Session::by_order(std::span<const NamedValue> inputs, const char* function) const {
  const ir::Graph& graph = model_->graph();
  Names given;
  given.reserve(inputs.size());
  for (const NamedValue& in : inputs) {
    if (std::ranges::find(given, in.name) != given.end())
      return argument_error({"input '", in.name, "' twice"}, "each input once", function, "remove one");
    given.push_back(in.name);
  }
  WALLE_TRY(check_input_names(graph, given));
  ByOrder out;
  out.values.reserve(inputs.size());
  for (const ir::ValueId id : graph.inputs) {
    const auto it = std::ranges::find(inputs, graph.at(id).name, &NamedValue::name);
    out.values.push_back(it == inputs.end() ? ir::RuntimeValue() : it->value);
  }
  for (const ir::ValueId id : graph.overridable) {
    const auto it = std::ranges::find(inputs, graph.at(id).name, &NamedValue::name);
    if (it == inputs.end()) continue;
    out.overridden.push_back(it->name);
    out.values.push_back(it->value);
  }
  return out;
}

// Kept per set of names: a caller who overrides an input does so in every run. With more sets than this the
// plans of all of them go, and those in use are made again.
Result<Session::Variant*> Session::variant(const Names& overridden) {
  constexpr size_t kMaxVariants = 16;
  if (const auto known = variants_.find(overridden); known != variants_.end()) return &known->second;
  WALLE_ASSIGN(std::shared_ptr<const Model> model, model_->with_inputs(overridden));
  if (variants_.size() >= kMaxVariants) variants_.clear();
  auto runner = std::make_unique<GraphRunner>(model->running(), shared_);
  return &variants_.emplace(overridden, Variant{std::move(model), std::move(runner)}).first->second;
}

Result<Session::Chosen> Session::choose(const Names& overridden) {
  if (overridden.empty()) return Chosen{model_.get(), &runner_};
  WALLE_ASSIGN(const Variant* found, variant(overridden));
  return Chosen{found->model.get(), found->runner.get()};
}

Status Session::check(const Model& model, const Values& inputs, const char* function) const {
  if (inputs.size() != model.graph().inputs.size())
    return argument_error({inputs.size(), " inputs"}, model.graph().inputs.size(), function,
                          "pass every input once");
  WALLE_TRY(model.check_inputs(inputs));
  // Reading a file that was cut would end the process; asking takes 0.2 us a file.
  WALLE_TRY(ir::check_files(model_->data()));
  return model_->constants().prepared.check_files();
}

}  // namespace walle::runtime
