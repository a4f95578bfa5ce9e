// The C API over runtime::Model and runtime::Session.
#include "walle/walle.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "capi/guard.h"
#include "ir/walle_file.h"
#include "runtime/model.h"
#include "runtime/session.h"

struct walle_model_t {
  std::shared_ptr<walle::runtime::Model> model;
};

struct walle_session_t {
  std::shared_ptr<walle::runtime::Model> model;
  std::unique_ptr<walle::runtime::Session> session;
};

struct walle_results_t {
  std::shared_ptr<walle::runtime::Model> model;
  std::vector<walle::Tensor> tensors;
};

namespace {

using walle::Error;
using walle::Result;
using walle::Tensor;
using walle::capi::guarded;
using walle::capi::null_argument;
using walle::capi::report;
namespace runtime = walle::runtime;

walle::Status make_model(Result<walle::ir::ModelData> data, walle_model_t** out) {
  if (!data.ok()) return data.take_error();
  WALLE_ASSIGN(auto model, runtime::Model::create(std::move(data).value()));
  *out = new walle_model_t{std::move(model)};
  return {};
}

walle_status_t value_info(const walle_model_t* model, const std::vector<walle::ir::ValueId>& ids, size_t index, walle_value_info_t* info,
                          walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!info) return null_argument("info", "walle_model_input/output");
    if (index >= ids.size())
      return walle::argument_error("index " + std::to_string(index), "below " + std::to_string(ids.size()), "walle_model_input/output",
                                   "ask for the count first");
    const walle::ir::Value& v = model->model->graph().at(ids[index]);
    *info = {};
    info->name = v.name.c_str();
    info->dtype = static_cast<walle_dtype_t>(v.dtype);
    info->rank = v.shape ? static_cast<int32_t>(v.shape->size()) : -1;
    for (int32_t i = 0; i < info->rank; ++i) info->shape[i] = (*v.shape)[static_cast<size_t>(i)].size;
    return {};
  });
}

Result<runtime::NamedValue> read_input(const walle_tensor_t& in) {
  const std::string name = in.name ? in.name : "";
  const std::string where = "walle_session_run, input '" + name + "'";
  if (in.dtype <= WALLE_UNDEFINED || in.dtype >= walle::tensor::kDTypeCount)
    return walle::argument_error("dtype " + std::to_string(in.dtype), "a walle_dtype_t", where, "set dtype");
  if (in.rank < 0 || in.rank > WALLE_MAX_RANK)
    return walle::argument_error("rank " + std::to_string(in.rank), "0.." + std::to_string(WALLE_MAX_RANK), where, "set rank and shape");
  const auto dtype = static_cast<walle::DType>(in.dtype);
  WALLE_ASSIGN(const walle::Shape shape, walle::Shape::checked({in.shape, static_cast<size_t>(in.rank)}, walle::dtype_size(dtype), where));
  const auto want = static_cast<size_t>(shape.elements() * walle::dtype_size(dtype));
  if (in.bytes != want || (want && !in.data))
    return walle::argument_error(std::to_string(in.bytes) + " bytes for " + std::string(walle::dtype_name(dtype)) + shape.text(),
                                 std::to_string(want) + " bytes and data that is not NULL", where, "set data and bytes");
  // Borrowed for the run; kernels read elements at their own alignment.
  if (want && reinterpret_cast<uintptr_t>(in.data) % static_cast<uintptr_t>(walle::dtype_size(dtype)) != 0)
    return walle::argument_error("data that is not aligned to its element size", "aligned memory", where,
                                 "copy it into an array of its type");
  walle::Buffer buffer = walle::Buffer::wrap(const_cast<void*>(in.data), want, {}, false);
  return runtime::NamedValue{name, Tensor(dtype, shape, std::move(buffer))};
}

void fill(const walle_results_t* results, size_t index, walle_tensor_t* out) {
  const Tensor& t = results->tensors[index];
  const walle::ir::Graph& g = results->model->graph();
  *out = {};
  out->name = g.at(g.outputs[index]).name.c_str();
  out->dtype = static_cast<walle_dtype_t>(t.dtype());
  out->rank = t.shape().rank();
  for (int i = 0; i < t.shape().rank(); ++i) out->shape[i] = t.shape()[i];
  out->data = t.data();
  out->bytes = static_cast<size_t>(t.bytes());
}

}  // namespace

extern "C" {

const char* walle_version(void) { return WALLE_VERSION_TEXT; }

walle_status_t walle_model_load(const char* path, walle_model_t** model, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!path || !model) return null_argument(path ? "model" : "path", "walle_model_load");
    *model = nullptr;
    return make_model(walle::ir::load_walle(path), model);
  });
}

walle_status_t walle_model_parse(const void* data, size_t bytes, walle_model_t** model, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!data || !model) return null_argument(data ? "model" : "data", "walle_model_parse");
    *model = nullptr;
    WALLE_ASSIGN(walle::Buffer copy, walle::Buffer::allocate(bytes));
    if (bytes) std::memcpy(copy.data(), data, bytes);
    auto keep = std::make_shared<const walle::Buffer>(copy);
    return make_model(walle::ir::parse_walle({copy.data(), bytes}, keep, "walle_model_parse"), model);
  });
}

void walle_model_free(walle_model_t* model) { delete model; }
size_t walle_model_input_count(const walle_model_t* model) { return model ? model->model->graph().inputs.size() : 0; }
size_t walle_model_output_count(const walle_model_t* model) { return model ? model->model->graph().outputs.size() : 0; }

walle_status_t walle_model_input(const walle_model_t* model, size_t index, walle_value_info_t* info, walle_error_t* error) {
  if (!model) return report(WALLE_ARGUMENT, "model is NULL; expected a loaded model [at walle_model_input]. Next: check the caller", error);
  return value_info(model, model->model->graph().inputs, index, info, error);
}

walle_status_t walle_model_output(const walle_model_t* model, size_t index, walle_value_info_t* info, walle_error_t* error) {
  if (!model)
    return report(WALLE_ARGUMENT, "model is NULL; expected a loaded model [at walle_model_output]. Next: check the caller", error);
  return value_info(model, model->model->graph().outputs, index, info, error);
}

const char* walle_model_metadata(const walle_model_t* model, const char* key) {
  if (!model || !key) return nullptr;
  for (const auto& [name, value] : model->model->data().metadata)
    if (name == key) return value.c_str();
  return nullptr;
}

walle_status_t walle_session_create(const walle_model_t* model, const walle_session_options_t* options, walle_session_t** session,
                                    walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!model || !session) return null_argument(model ? "session" : "model", "walle_session_create");
    *session = nullptr;
    walle_session_options_t given{};
    if (options) {
      if (options->struct_size < sizeof(size_t) || options->struct_size > 4096)
        return walle::argument_error("struct_size " + std::to_string(options->struct_size), "sizeof(walle_session_options_t)",
                                     "walle_session_create", "set struct_size");
      std::memcpy(&given, options, std::min(options->struct_size, sizeof(given)));
    }
    runtime::SessionOptions chosen;
    if (given.backend) chosen.backend = given.backend;
    chosen.threads = given.threads ? given.threads : walle::base::available_processors();
    WALLE_ASSIGN(auto made, model->model->session(chosen));
    *session = new walle_session_t{model->model, std::move(made)};
    return {};
  });
}

void walle_session_free(walle_session_t* session) { delete session; }

walle_status_t walle_session_run(walle_session_t* session, const walle_tensor_t* inputs, size_t count, walle_results_t** results,
                                 walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !results || (count && !inputs))
      return null_argument(!session ? "session" : !results ? "results" : "inputs", "walle_session_run");
    *results = nullptr;
    std::vector<runtime::NamedValue> values;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(values.emplace_back(), read_input(inputs[i]));
    }
    WALLE_ASSIGN(auto produced, session->session->run(values));
    auto out = std::make_unique<walle_results_t>();
    out->model = session->model;
    for (walle::ir::RuntimeValue& v : produced) {
      const Tensor* t = v.tensor();
      if (!t)
        return walle::backend_error("a result that is a sequence or an empty optional", "tensors", "walle_session_run",
                                    "use the Python API for this model");
      out->tensors.push_back(*t);
    }
    *results = out.release();
    return {};
  });
}

void walle_results_free(walle_results_t* results) { delete results; }
size_t walle_results_count(const walle_results_t* results) { return results ? results->tensors.size() : 0; }

walle_status_t walle_results_get(const walle_results_t* results, size_t index, walle_tensor_t* tensor, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!results || !tensor) return null_argument(results ? "tensor" : "results", "walle_results_get");
    if (index >= results->tensors.size())
      return walle::argument_error("index " + std::to_string(index), "below " + std::to_string(results->tensors.size()),
                                   "walle_results_get", "ask for the count first");
    fill(results, index, tensor);
    return {};
  });
}

walle_status_t walle_results_find(const walle_results_t* results, const char* name, walle_tensor_t* tensor, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!results || !name || !tensor) return null_argument(!results ? "results" : !name ? "name" : "tensor", "walle_results_find");
    const walle::ir::Graph& g = results->model->graph();
    for (size_t i = 0; i < results->tensors.size(); ++i) {
      if (g.at(g.outputs[i]).name != name) continue;
      fill(results, i, tensor);
      return {};
    }
    return walle::argument_error("'" + std::string(name) + "'", "the name of an output", "walle_results_find", "see walle_model_output");
  });
}

}  // extern "C"
