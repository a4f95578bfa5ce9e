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
#include "runtime/fold.h"
#include "runtime/session.h"

namespace walle::runtime {

namespace {
std::string declared(const ir::Value& value) {
  if (!value.shape) return std::string(dtype_name(value.dtype));
  std::string out = std::string(dtype_name(value.dtype)) + "[";
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const ir::Dim& d = (*value.shape)[i];
    out += (i ? ", " : "") + (d.size >= 0 ? std::to_string(d.size) : (d.symbol.empty() ? "?" : d.symbol));
  }
  return out + "]";
}

Status check_input(const ir::Value& value, const ir::RuntimeValue& given,
                   std::map<std::string, int64_t>& symbols) {
  // Runs before every run: texts are made only when something is wrong.
  const auto where = [&] { return "input '" + value.name + "'"; };
  if (value.kind == ir::ValueKind::sequence)
    return given.sequence() ? Status()
                            : argument_error("a value that is not a sequence", "a sequence of tensors",
                                             where(), "pass a list of arrays");
  if (value.kind == ir::ValueKind::optional) return {};
  const Tensor* t = given.tensor();
  if (!t) return argument_error("no tensor", declared(value), where(), "pass an array");
  const auto have = [&] { return std::string(dtype_name(t->dtype())) + t->shape().text(); };
  if (value.dtype != DType::undefined && t->dtype() != value.dtype)
    return argument_error(have(), declared(value), where(),
                          {"convert the array with .astype('", dtype_name(value.dtype), "')"});
  if (!value.shape) return {};
  bool fits = static_cast<int>(value.shape->size()) == t->shape().rank();
  for (size_t i = 0; fits && i < value.shape->size(); ++i) {
    const ir::Dim& d = (*value.shape)[i];
    const int64_t size = t->shape()[static_cast<int>(i)];
    if (d.size >= 0)
      fits = d.size == size;
    else if (!d.symbol.empty())
      fits = symbols.emplace(d.symbol, size).first->second == size;
  }
  if (!fits) {
    std::string bound;
    for (const auto& [name, size] : symbols)
      bound += (bound.empty() ? " where " : ", ") + name + "=" + std::to_string(size);
    return argument_error(have(), declared(value) + bound, where(),
                          "reshape the array or convert the model with dynamic dimensions");
  }
  return {};
}
}  // namespace

Result<std::shared_ptr<Model>> Model::create(ir::ModelData data, const ModelOptions& options) {
  WALLE_TRY(ir::verify(data, ops::find_op));
  std::shared_ptr<Model> model(new Model(std::move(data), options));
  // Most models that list their weights as inputs are old exports, and nobody overrides them: they are folded
  // and planned as constants until somebody does.
  if (!model->data_.graph.overridable.empty()) model->unfolded_ = model->data_;
  if (options.fold) fold_constants(model->data_.graph);
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

Result<std::unique_ptr<Session>> Model::session(const SessionOptions& options) const {
  if (options.threads < 1 || options.threads > base::kMaxThreads)
    return argument_error({"threads=", options.threads}, {"1 to ", base::kMaxThreads}, "session",
                          "use threads=1 or the number of cores");
  if (options.precision != "float32")
    return argument_error({"precision='", options.precision, "'"}, "'float32'", "session",
                          "leave precision at its default");
  WALLE_TRY(error_limit(options.accuracy).status());
  WALLE_TRY(check_tune(options.tune));
  WALLE_TRY(check_max_plans(options.max_plans));
  WALLE_TRY(ir::check_files(data_));
  WALLE_ASSIGN(std::vector<const backends::Backend*> backends, backends_named(options.backend));
  // Behind all that were named: on a tie row-major stays.
  for (size_t named = backends.size(), i = 0; options.debug.layouts && i < named; ++i)
    std::ranges::copy(backends[i]->layouts(), std::back_inserter(backends));
  return std::make_unique<Session>(shared_from_this(), options, std::move(backends));
}

Status Model::check_inputs(const std::vector<ir::RuntimeValue>& inputs) const {
  std::map<std::string, int64_t> symbols;
  for (size_t i = 0; i < graph().inputs.size(); ++i)
    WALLE_TRY(check_input(graph().at(graph().inputs[i]), inputs[i], symbols));
  return {};
}

}  // namespace walle::runtime
