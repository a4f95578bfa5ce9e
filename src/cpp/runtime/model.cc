// What callers may ask of a model: its own bytes, options of sessions and inputs of runs are checked here,
// before anything is made of them.
#include "runtime/model.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/limits.h"
#include "ir/verify.h"
#include "ops/registry.h"
#include "runtime/backend_list.h"
#include "runtime/check_shapes.h"
#include "runtime/check_value.h"
#include "runtime/fold.h"
#include "runtime/own_results.h"
#include "runtime/session.h"
#include "runtime/value_names.h"

namespace walle::runtime {

Result<std::shared_ptr<Model>> Model::create(ir::ModelData data, const ModelOptions& options) {
  WALLE_TRY(ir::verify(data, ops::find_op));
  WALLE_TRY(check_shapes(data.graph));
  std::shared_ptr<Model> model(new Model(std::move(data), options));
  // Most models that list their weights as inputs are old exports, and nobody overrides them: they are folded
  // and planned as constants until somebody does.
  if (!model->data_.graph.overridable.empty()) model->unfolded_ = model->data_;
  // States are constants that change: the graph that is folded has them as inputs.
  if (!model->data_.graph.states.empty()) model->running_ = with_open_states(model->data_.graph);
  if (options.fold) fold_constants(model->running_ ? *model->running_ : model->data_.graph);
  return model;
}

Result<std::shared_ptr<const Model>> Model::with_inputs(const Names& overridden) const {
  ir::ModelData data = stored();
  ir::Graph& g = data.graph;
  for (const std::string& name : overridden) {
    const auto found =
        std::ranges::find_if(g.overridable, [&](ir::ValueId id) { return g.at(id).name == name; });
    if (found == g.overridable.end())
      return argument_error({"input '", name, "'"}, "the name of an overridable input", "run",
                            "see the model's overridable inputs");
    g.at(*found).constant.reset();
    g.inputs.push_back(*found);
  }
  g.overridable.clear();
  data.signatures.clear();  // they may name inputs that stay constants; names are the graph's own by now
  WALLE_ASSIGN(std::shared_ptr<const Model> made, create(std::move(data), options_));
  return made;
}

namespace {
// The place of a name in a list of values.
Result<std::ptrdiff_t> place_of(const ir::Graph& g, const std::vector<ir::ValueId>& ids,
                                const std::string& name, const char* role) {
  const std::vector<std::string> names = value_names(g, ids);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return unknown_name(name, role, names);
  return found - names.begin();
}

void drop_names(std::vector<ir::Signature>& signatures, const StateSpec& spec) {
  for (ir::Signature& s : signatures) {
    std::erase_if(s.inputs, [&](const auto& entry) { return entry.second == spec.input; });
    std::erase_if(s.outputs, [&](const auto& entry) { return entry.second == spec.output; });
  }
}
}  // namespace

Result<std::shared_ptr<const Model>> Model::with_states(std::span<const StateSpec> states) const {
  ir::ModelData data = stored();
  ir::Graph& g = data.graph;
  for (const StateSpec& spec : states) {
    WALLE_ASSIGN(const auto input, place_of(g, g.inputs, spec.input, "input"));
    WALLE_ASSIGN(const auto output, place_of(g, g.outputs, spec.output, "output"));
    std::map<std::string, int64_t> symbols;
    ir::Value& value = g.at(g.inputs[input]);
    WALLE_TRY(check_value(value, spec.value, "state", symbols));
    WALLE_ASSIGN(const Tensor plain, spec.value.with_plain_booleans());
    WALLE_ASSIGN(value.constant, copied(plain));  // the caller may change his
    g.states.push_back({g.inputs[input], g.outputs[output]});
    g.inputs.erase(g.inputs.begin() + input);
    g.outputs.erase(g.outputs.begin() + output);
    drop_names(data.signatures, spec);
  }
  WALLE_ASSIGN(std::shared_ptr<const Model> made, create(std::move(data), options_));
  return made;
}

Result<std::unique_ptr<Session>> Model::session(const SessionOptions& options) const {
  if (options.threads < 1 || options.threads > base::kMaxThreads)
    return argument_error({"threads=", options.threads}, {"1 to ", base::kMaxThreads}, "session",
                          "use threads=1 or the number of cores");
  WALLE_ASSIGN(const bool rounds, allows_rounded_values(options));
  WALLE_TRY(check_tune(options.tune));
  WALLE_TRY(check_max_plans(options.max_plans));
  WALLE_TRY(check_max_plan_bytes(options.max_plan_bytes));
  WALLE_TRY(ir::check_files(data_));
  WALLE_ASSIGN(std::vector<const backends::Backend*> backends, backends_named(options.backend));
  // Behind all that were named: on a tie row-major stays.
  for (size_t named = backends.size(), i = 0; options.debug.layouts && i < named; ++i)
    std::ranges::copy_if(backends[i]->layouts(), std::back_inserter(backends),
                         [rounds](const backends::Backend* b) {
                           return (b->memory().exact() && b->source().exact()) || (rounds && b->ready().ok());
                         });
  return std::make_unique<Session>(shared_from_this(), options, std::move(backends));
}

Status Model::check_inputs(const std::vector<ir::RuntimeValue>& inputs) const {
  std::map<std::string, int64_t> symbols;
  for (size_t i = 0; i < graph().inputs.size(); ++i)
    WALLE_TRY(check_value(graph().at(graph().inputs[i]), inputs[i], "input", symbols));
  return {};
}

}  // namespace walle::runtime
