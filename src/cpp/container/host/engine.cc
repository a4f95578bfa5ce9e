// walle.engine: models of the task's own bundle, run on native buffers while the interpreter is released. The
// part of it that tasks see as classes is lib/walle/engine.py.
#include "base/thread_pool.h"
#include "container/host/bundle_resource.h"
#include "container/host/engine_models.h"
#include "container/host/engine_stack.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {

Result<runtime::Session*> session_of(const TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 0));
  const EngineModels* models = context.room(kEngineSlot);
  if (models == nullptr)
    return argument_error("a number", "a loaded model", "walle.engine", "call walle.engine.load first");
  return models->find(handle);
}

Result<std::vector<runtime::NamedValue>> inputs_from(const wvm_value& given) {
  if (given.kind != WVM_MAP)
    return argument_error("inputs that are not a dict", "{input name: walle.Tensor}", "walle.engine.run",
                          "name every input")
        .of_kind(base::ErrorKind::wrong_type);
  std::vector<runtime::NamedValue> inputs;
  const Value map = vm::incoming(given);
  for (const auto& [name, value] : *map.get<Map>()) {
    const Tensor* tensor = value.get<Tensor>();
    if (tensor == nullptr)
      return argument_error({"input '", name, "', which is no tensor"}, "a walle.Tensor", "walle.engine.run",
                            "make one: walle.Tensor(values, dtype)")
          .of_kind(base::ErrorKind::wrong_type);
    inputs.push_back({name, *tensor});
  }
  return inputs;
}

Value described(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  List list;
  for (const ir::ValueId id : ids) {
    const ir::Value& v = graph.at(id);
    Value shape;
    if (v.shape) {
      List dims;
      for (const ir::Dim& dim : *v.shape) {
        dims.emplace_back();
        if (dim.size >= 0) dims.back() = Value(dim.size);
      }
      shape = std::move(dims);
    }
    list.push_back(
        Map{{"name", v.name}, {"dtype", std::string(dtype_name(v.dtype))}, {"shape", std::move(shape)}});
  }
  return list;
}

}  // namespace

Result<Value> engine_load_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 0));
  WALLE_ASSIGN(const int64_t threads, vm::int_arg(args, 1));
  if (threads < 0 || threads > EngineModels::kMaxThreads)
    return argument_error({"threads=", threads}, {"0 (all of the device) to ", EngineModels::kMaxThreads},
                          "walle.engine.load", "use 1");
  WALLE_ASSIGN(const vm::Resource* resource, resource_of(context, name));
  if (context.room(kEngineSlot) == nullptr) context.set(kEngineSlot, std::make_shared<EngineModels>());
  const int chosen = threads == 0 ? base::available_processors() : static_cast<int>(threads);
  WALLE_ASSIGN(const int64_t handle, with_stack([&] {
                 return context.room(kEngineSlot)->load(resource->name, resource->bytes, chosen);
               }));
  return Value(handle);
}

Result<Value> engine_run_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(runtime::Session * session, session_of(context, args));
  WALLE_ASSIGN(const std::vector<runtime::NamedValue> inputs, inputs_from(args[1]));
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results, with_stack([&] { return session->run(inputs); }));
  const ir::Graph& graph = session->model().graph();
  Map out;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = graph.at(graph.outputs[i]).name;
    const Tensor* tensor = results[i].tensor();
    if (tensor == nullptr)
      return backend_error({"output '", name, "', a sequence or an empty optional"}, "tensors",
                           "walle.engine.run", "use a model whose outputs are tensors");
    out.emplace_back(name, *tensor);
  }
  return Value(std::move(out));
}

Result<Value> engine_inputs_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const runtime::Session* session, session_of(context, args));
  return described(session->model().graph(), session->model().graph().inputs);
}

Result<Value> engine_outputs_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const runtime::Session* session, session_of(context, args));
  return described(session->model().graph(), session->model().graph().outputs);
}

Result<Value> engine_close_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 0));
  EngineModels* models = context.room(kEngineSlot);
  return Value(models != nullptr && models->release(handle));
}

constexpr std::string_view kRuntimePrefix = ".walle/";

Result<Value> engine_resources_call(TaskContext& context, HostArgs /*args*/) {
  List names;
  for (const auto& bundle : context.bundles) {
    for (const vm::Resource& resource : bundle->resources()) {
      // The runtime's own, as the manifest: whoever lists resources to load them all wants the task's.
      if (!resource.name.starts_with(kRuntimePrefix)) names.emplace_back(resource.name);
    }
  }
  return Value(std::move(names));
}

Result<Value> engine_read_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 0));
  WALLE_ASSIGN(const vm::Resource* resource, resource_of(context, name));
  return Value(resource->bytes);
}

}  // namespace walle::container::host
