// Sessions: run by the graph's names or by a signature's, look at the plan.
#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "capi/handles.h"

namespace {

using walle::Result;
using walle::Tensor;
using walle::capi::guarded;
using walle::capi::index_error;
using walle::capi::null_argument;
namespace runtime = walle::runtime;

Result<runtime::NamedValue> read_input(const walle_tensor_t& in) {
  const std::string name = in.name ? in.name : "";
  const std::string where = "walle_session_run, input '" + name + "'";
  if (walle_dtype_size(in.dtype) == 0)
    return walle::argument_error("dtype " + std::to_string(static_cast<int>(in.dtype)), "a walle_dtype_t",
                                 where, "set dtype");
  if (in.rank < 0 || in.rank > WALLE_MAX_RANK)
    return walle::argument_error("rank " + std::to_string(in.rank), "0.." + std::to_string(WALLE_MAX_RANK),
                                 where, "set rank and shape");
  const auto dtype = static_cast<walle::DType>(in.dtype);
  WALLE_ASSIGN(const walle::Shape shape, walle::Shape::checked({in.shape, static_cast<size_t>(in.rank)},
                                                               walle::dtype_size(dtype), where));
  const auto want = static_cast<size_t>(shape.elements() * walle::dtype_size(dtype));
  if (in.bytes != want || (want && !in.data))
    return walle::argument_error(
        std::to_string(in.bytes) + " bytes for " + std::string(walle::dtype_name(dtype)) + shape.text(),
        std::to_string(want) + " bytes and data that is not NULL", where, "set data and bytes");
  // Borrowed for the run; kernels read elements at their own alignment.
  if (want && reinterpret_cast<uintptr_t>(in.data) % static_cast<uintptr_t>(walle::dtype_size(dtype)) != 0)
    return walle::argument_error("data that is not aligned to its element size", "aligned memory", where,
                                 "copy it into an array of its type");
  walle::Buffer buffer = walle::Buffer::wrap(const_cast<void*>(in.data), want, {}, false);
  return runtime::NamedValue{name, Tensor(dtype, shape, std::move(buffer))};
}

using Names = std::vector<std::pair<std::string, std::string>>;  // public name, name in the graph

Names graph_names(const walle::ir::Graph& graph, const std::vector<walle::ir::ValueId>& ids) {
  Names names;
  for (const walle::ir::ValueId id : ids) names.emplace_back(graph.at(id).name, graph.at(id).name);
  return names;
}

Result<walle::ir::Signature> signature_of(const runtime::Model& model, const char* name) {
  const walle::ir::Graph& graph = model.graph();
  if (!name)
    return walle::ir::Signature{"", graph_names(graph, graph.inputs), graph_names(graph, graph.outputs)};
  std::string known;
  for (const walle::ir::Signature& s : model.data().signatures) {
    if (s.name == name) return s;
    known += (known.empty() ? "" : ", ") + s.name;
  }
  return walle::argument_error("signature '" + std::string(name) + "'",
                               known.empty() ? "NULL: the model has none" : "one of: " + known,
                               "walle_session_run_signature", "see walle_model_signature_name");
}

walle::Status rename_inputs(const Names& names, const std::string& signature,
                            std::vector<runtime::NamedValue>& values) {
  if (signature.empty()) return {};  // the graph's own names, which Session::run checks
  for (runtime::NamedValue& v : values) {
    const auto it = std::ranges::find(names, v.name, &Names::value_type::first);
    if (it == names.end())
      return walle::argument_error("input '" + v.name + "'", "an input of signature '" + signature + "'",
                                   "walle_session_run_signature", "check the spelling");
    v.name = it->second;
  }
  return {};
}

// The results the signature names, under its names.
walle::Status collect(const walle_session_t& session, const Names& names,
                      const std::vector<walle::ir::RuntimeValue>& produced, walle_results_t& out) {
  const walle::ir::Graph& graph = session.model->graph();
  out.model = session.model;
  for (const auto& [name, target] : names) {
    const auto it = std::ranges::find_if(graph.outputs,
                                         [&](walle::ir::ValueId id) { return graph.at(id).name == target; });
    const Tensor* t = it == graph.outputs.end()
                          ? nullptr
                          : produced[static_cast<size_t>(it - graph.outputs.begin())].tensor();
    if (!t)
      return walle::backend_error("result '" + name + "' that is a sequence or an empty optional", "tensors",
                                  "walle_session_run", "use the Python API for this model");
    out.names.push_back(name);
    out.tensors.push_back(*t);
  }
  return {};
}

void fill(const walle_results_t* results, size_t index, walle_tensor_t* out) {
  const Tensor& t = results->tensors[index];
  *out = {};
  out->name = results->names[index].c_str();
  out->dtype = static_cast<walle_dtype_t>(t.dtype());
  out->rank = t.shape().rank();
  for (int i = 0; i < t.shape().rank(); ++i) out->shape[i] = t.shape()[i];
  out->data = t.data();
  out->bytes = static_cast<size_t>(t.bytes());
}

}  // namespace

extern "C" {

walle_status_t walle_session_create(const walle_model_t* model, const walle_session_options_t* options,
                                    walle_session_t** session, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!model || !session) return null_argument(model ? "session" : "model", "walle_session_create");
    *session = nullptr;
    walle_session_options_t given{};
    if (options) {
      if (options->struct_size < sizeof(size_t) || options->struct_size > walle::capi::kMaxStructBytes)
        return walle::argument_error("struct_size " + std::to_string(options->struct_size),
                                     "sizeof(walle_session_options_t)", "walle_session_create",
                                     "set struct_size");
      std::memcpy(&given, options, std::min(options->struct_size, sizeof(given)));
    }
    runtime::SessionOptions chosen;
    if (given.backend) chosen.backend = given.backend;
    // 0 is what a zeroed struct holds, so it must mean the default.
    chosen.threads = given.threads ? given.threads : walle::base::available_processors();
    WALLE_ASSIGN(auto made, model->model->session(chosen));
    *session = new walle_session_t{model->model, std::move(made), {}};
    return {};
  });
}

void walle_session_free(walle_session_t* session) { delete session; }

walle_status_t walle_session_run_signature(walle_session_t* session, const char* signature,
                                           const walle_tensor_t* inputs, size_t count,
                                           walle_results_t** results, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !results || (count && !inputs))
      return null_argument(!session ? "session" : !results ? "results" : "inputs", "walle_session_run");
    *results = nullptr;
    WALLE_ASSIGN(const walle::ir::Signature names, signature_of(*session->model, signature));
    std::vector<runtime::NamedValue> values;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(values.emplace_back(), read_input(inputs[i]));
    }
    WALLE_TRY(rename_inputs(names.inputs, names.name, values));
    WALLE_ASSIGN(const auto produced, session->session->run(values));
    auto out = std::make_unique<walle_results_t>();
    WALLE_TRY(collect(*session, names.outputs, produced, *out));
    *results = out.release();
    return {};
  });
}

walle_status_t walle_session_run(walle_session_t* session, const walle_tensor_t* inputs, size_t count,
                                 walle_results_t** results, walle_error_t* error) {
  return walle_session_run_signature(session, nullptr, inputs, count, results, error);
}

walle_status_t walle_session_explain(walle_session_t* session, const char** text, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !text) return null_argument(session ? "text" : "session", "walle_session_explain");
    session->plan.clear();
    for (const runtime::ExplainRow& row : session->session->explain().rows)
      session->plan += row.op + " " + row.backend + " " + row.algorithm + " " + row.output + " predicted " +
                       std::to_string(row.predicted_ms * 1e3) + " us # " + row.node + "\n";
    *text = session->plan.c_str();
    return {};
  });
}

void walle_results_free(walle_results_t* results) { delete results; }
size_t walle_results_count(const walle_results_t* results) { return results ? results->tensors.size() : 0; }

walle_status_t walle_results_get(const walle_results_t* results, size_t index, walle_tensor_t* tensor,
                                 walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!results || !tensor) return null_argument(results ? "tensor" : "results", "walle_results_get");
    if (index >= results->tensors.size())
      return index_error(index, results->tensors.size(), "walle_results_get");
    fill(results, index, tensor);
    return {};
  });
}

walle_status_t walle_results_find(const walle_results_t* results, const char* name, walle_tensor_t* tensor,
                                  walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!results || !name || !tensor)
      return null_argument(!results ? "results" : !name ? "name" : "tensor", "walle_results_find");
    const auto it = std::ranges::find(results->names, name);
    if (it == results->names.end())
      return walle::argument_error("'" + std::string(name) + "'", "the name of an output",
                                   "walle_results_find", "see walle_model_output");
    fill(results, static_cast<size_t>(it - results->names.begin()), tensor);
    return {};
  });
}

}  // extern "C"
