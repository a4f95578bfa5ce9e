// Loading models, and what they declare.
#include <cstring>
#include <iterator>

#include "capi/handles.h"
#include "ir/walle_file.h"

namespace {

using walle::capi::guarded;
using walle::capi::index_error;
using walle::capi::null_argument;
using Ids = std::vector<walle::ir::ValueId>;

walle::Status make_model(walle::Result<walle::ir::ModelData> data, walle_model_t** out) {
  if (!data.ok()) return data.take_error();
  WALLE_ASSIGN(auto model, walle::runtime::Model::create(std::move(data).value()));
  *out = new walle_model_t{std::move(model)};
  return {};
}

const Ids& inputs(const walle_model_t* model) { return model->model->graph().inputs; }
const Ids& outputs(const walle_model_t* model) { return model->model->graph().outputs; }
const Ids& overridable(const walle_model_t* model) { return model->model->graph().overridable; }

void describe(const walle::ir::Value& v, walle_value_info_t& out) {
  out = {};
  out.name = v.name.c_str();
  out.dtype = static_cast<walle_dtype_t>(v.dtype);
  out.rank = v.shape ? static_cast<int32_t>(v.shape->size()) : -1;
  // out.shape holds WALLE_MAX_RANK, which verification holds every rank to.
  for (int32_t i = 0; i < out.rank; ++i) out.shape[i] = (*v.shape)[i].size;
}

using Names = std::vector<std::pair<std::string, std::string>>;
const char* signature_entry(const walle_model_t* model, size_t signature, Names walle::ir::Signature::* side,
                            size_t index, const char** graph_name) {
  if (signature >= walle_model_signature_count(model)) return nullptr;
  const Names& names = model->model->data().signatures[signature].*side;
  if (index >= names.size()) return nullptr;
  if (graph_name) *graph_name = names[index].second.c_str();
  return names[index].first.c_str();
}

walle_status_t value_info(const walle_model_t* model, const Ids& (*ids)(const walle_model_t*), size_t index,
                          walle_value_info_t* info, walle_error_t* error, const char* function) {
  return guarded(error, [&]() -> walle::Status {
    if (!model || !info) return null_argument(model ? "info" : "model", function);
    if (index >= ids(model).size()) return index_error(index, ids(model).size(), function);
    describe(model->model->graph().at(ids(model)[index]), *info);
    return {};
  });
}

const char* symbol(const walle_model_t* model, const Ids& (*ids)(const walle_model_t*), size_t index,
                   int32_t axis) {
  if (!model || index >= ids(model).size()) return nullptr;
  const auto& shape = model->model->graph().at(ids(model)[index]).shape;
  if (!shape || axis < 0 || axis >= std::ssize(*shape)) return nullptr;
  const walle::ir::Dim& dim = (*shape)[axis];
  // A known size needs no name, and "" would look like one.
  return dim.size < 0 && !dim.symbol.empty() ? dim.symbol.c_str() : nullptr;
}

}  // namespace

extern "C" {

walle_status_t walle_model_load(const char* path, walle_model_t** model, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!path || !model) return null_argument(path ? "model" : "path", "walle_model_load");
    *model = nullptr;
    return make_model(walle::ir::load_walle(path), model);
  });
}

walle_status_t walle_model_parse(const void* data, size_t bytes, walle_model_t** model,
                                 walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!data || !model) return null_argument(data ? "model" : "data", "walle_model_parse");
    *model = nullptr;
    // The caller's bytes may go when this returns, and may lie anywhere: constants stay windows of a copy
    // that is aligned and lives as long as they do.
    WALLE_ASSIGN(walle::Buffer copy, walle::Buffer::allocate(bytes));
    if (bytes) std::memcpy(copy.data(), data, bytes);
    return make_model(walle::ir::parse_walle(copy, "walle_model_parse", walle::ir::Check::weights), model);
  });
}

void walle_model_free(walle_model_t* model) { delete model; }

size_t walle_model_input_count(const walle_model_t* model) { return model ? inputs(model).size() : 0; }
size_t walle_model_output_count(const walle_model_t* model) { return model ? outputs(model).size() : 0; }

walle_status_t walle_model_input(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                 walle_error_t* error) {
  return value_info(model, inputs, index, info, error, "walle_model_input");
}

walle_status_t walle_model_output(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                  walle_error_t* error) {
  return value_info(model, outputs, index, info, error, "walle_model_output");
}

size_t walle_model_overridable_count(const walle_model_t* model) {
  return model ? overridable(model).size() : 0;
}

walle_status_t walle_model_overridable(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                       walle_error_t* error) {
  return value_info(model, overridable, index, info, error, "walle_model_overridable");
}

size_t walle_model_state_count(const walle_model_t* model) {
  return model ? model->model->graph().states.size() : 0;
}

walle_status_t walle_model_state(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                 walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!model || !info) return null_argument(model ? "info" : "model", "walle_model_state");
    const walle::ir::Graph& graph = model->model->graph();
    if (index >= graph.states.size()) return index_error(index, graph.states.size(), "walle_model_state");
    describe(graph.at(graph.states[index].value), *info);
    return {};
  });
}

const char* walle_model_input_symbol(const walle_model_t* model, size_t index, int32_t axis) {
  return symbol(model, inputs, index, axis);
}
const char* walle_model_output_symbol(const walle_model_t* model, size_t index, int32_t axis) {
  return symbol(model, outputs, index, axis);
}

size_t walle_model_metadata_count(const walle_model_t* model) {
  return model ? model->model->data().metadata.size() : 0;
}

const char* walle_model_metadata_key(const walle_model_t* model, size_t index) {
  if (index >= walle_model_metadata_count(model)) return nullptr;
  return std::next(model->model->data().metadata.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
}

const char* walle_model_metadata(const walle_model_t* model, const char* key) {
  if (!model || !key) return nullptr;
  // A walk, because find() would make a std::string of `key`, which may throw across the C boundary.
  for (const auto& [name, value] : model->model->data().metadata)
    if (name == key) return value.c_str();
  return nullptr;
}

size_t walle_model_signature_count(const walle_model_t* model) {
  return model ? model->model->data().signatures.size() : 0;
}

const char* walle_model_signature_name(const walle_model_t* model, size_t index) {
  return index < walle_model_signature_count(model) ? model->model->data().signatures[index].name.c_str()
                                                    : nullptr;
}

const char* walle_model_signature_input(const walle_model_t* model, size_t signature, size_t index,
                                        const char** graph_name) {
  return signature_entry(model, signature, &walle::ir::Signature::inputs, index, graph_name);
}

const char* walle_model_signature_output(const walle_model_t* model, size_t signature, size_t index,
                                         const char** graph_name) {
  return signature_entry(model, signature, &walle::ir::Signature::outputs, index, graph_name);
}

}  // extern "C"
