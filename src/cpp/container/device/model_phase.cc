#include "container/device/model_phase.h"

#include <algorithm>

#include "vm/convert.h"

namespace walle::container {

namespace {
constexpr const char* kWhere = "execute, a model";

Error no_input(const ir::Graph& graph, Text given) {
  std::string names;
  for (const ir::ValueId id : graph.inputs) names += (names.empty() ? "" : ", ") + graph.at(id).name;
  return argument_error(given, {"{input name: walle.Tensor} with ", names}, kWhere,
                        "return exactly the model's inputs from preprocess")
      .of_kind(base::ErrorKind::wrong_type);
}
}  // namespace

Result<std::unique_ptr<ModelPhase>> ModelPhase::load(const vm::Resource& model) {
  std::unique_ptr<ModelPhase> made(new ModelPhase());
  WALLE_ASSIGN(const int64_t handle, made->models_.load(model.name, model.bytes, 1));
  WALLE_ASSIGN(made->session_, made->models_.find(handle));
  return made;
}

ModelPhase::~ModelPhase() { release(); }

void ModelPhase::release() {
  for (size_t i = 1; i < outputs_.size(); i += 2) outputs_[i].as.tensor->release(outputs_[i].as.tensor);
  outputs_.clear();
}

Result<runtime::Session::Values> ModelPhase::values_of(const wvm_value& inputs) const {
  const ir::Graph& graph = session_->model().graph();
  runtime::Session::Values values(graph.inputs.size());
  if (inputs.kind == WVM_TENSOR && values.size() == 1) {
    values[0] = vm::tensor_of(inputs.as.tensor);
    return values;
  }
  if (inputs.kind != WVM_MAP) return no_input(graph, "what preprocess returned, which is no dict");
  for (const auto& [name, item] : vm::entries_of(inputs)) {
    // clang 14 lets no lambda capture a structured binding.
    const auto at = std::ranges::find_if(
        graph.inputs, [&, wanted = name](ir::ValueId id) { return graph.at(id).name == wanted; });
    if (at == graph.inputs.end()) return no_input(graph, {"input '", name, "'"});
    if (item.kind != WVM_TENSOR) return no_input(graph, {"input '", name, "', no tensor"});
    values[at - graph.inputs.begin()] = vm::tensor_of(item.as.tensor);
  }
  // Keys of a dict differ, so as many as there are inputs are all of them.
  if (inputs.size != values.size()) return no_input(graph, {inputs.size, " inputs"});
  return values;
}

Result<wvm_value> ModelPhase::run(const wvm_value& inputs, uint32_t wall_ms,
                                  const runtime::CancelToken& cancel) {
  release();
  WALLE_ASSIGN(runtime::Session::Values values, values_of(inputs));
  runtime::RunOptions options;
  options.cancel = &cancel;
  if (wall_ms != 0) options.timeout = std::chrono::milliseconds(wall_ms);
  WALLE_ASSIGN(const runtime::Session::Values results, session_->run(std::move(values), options));
  const ir::Graph& graph = session_->model().graph();
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = graph.at(graph.outputs[i]).name;
    const Tensor* tensor = results[i].tensor();
    if (tensor == nullptr)
      return backend_error({"output '", name, "', a sequence or an empty optional"}, "tensors", kWhere,
                           "use a model whose outputs are tensors");
    wvm_tensor* lent = vm::lend(*tensor);
    if (lent == nullptr)
      return resource_error({"output '", name, "'"}, "memory for a tensor", kWhere, "free memory")
          .of_kind(base::ErrorKind::no_memory);
    outputs_.push_back({.kind = WVM_STR, .size = name.size(), .as = {.text = name.data()}});
    outputs_.push_back({.kind = WVM_TENSOR, .size = 0, .as = {.tensor = lent}});
  }
  return wvm_value{.kind = WVM_MAP, .size = results.size(), .as = {.items = outputs_.data()}};
}

}  // namespace walle::container
