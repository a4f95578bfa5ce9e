// Running a session: by the graph's names or by a signature's, with an end and memory for results.
#include <algorithm>
#include <chrono>
#include <new>

#include "capi/handles.h"
#include "capi/tensors.h"

namespace {

using walle::Result;
using walle::Tensor;
using walle::capi::copy_options;
using walle::capi::guarded;
using walle::capi::null_argument;
using walle::capi::read_tensor;
namespace runtime = walle::runtime;

constexpr const char* kRun = "walle_session_run";

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
  return walle::argument_error(
      {"signature '", name, "'"},
      known.empty() ? walle::Text("NULL: the model has none") : walle::Text{"one of: ", known},
      "walle_session_run_signature", "see walle_model_signature_name");
}

walle::Status rename_inputs(const Names& names, const std::string& signature,
                            std::vector<runtime::NamedValue>& values) {
  if (signature.empty()) return {};  // the graph's own names, which Session::run checks
  for (runtime::NamedValue& v : values) {
    const auto it = std::ranges::find(names, v.name, &Names::value_type::first);
    if (it == names.end())
      return walle::argument_error({"input '", v.name, "'"}, {"an input of signature '", signature, "'"},
                                   "walle_session_run_signature", "check the spelling");
    v.name = it->second;
  }
  return {};
}

// The results the signature names, under its names.
walle::Status collect(const walle_session_t& session, const Names& names,
                      const std::vector<walle::ir::RuntimeValue>& produced, walle_results_t& out) {
  const walle::ir::Graph& graph = session.model->graph();
  for (const auto& [name, target] : names) {
    const auto it = std::ranges::find_if(graph.outputs,
                                         [&](walle::ir::ValueId id) { return graph.at(id).name == target; });
    const Tensor* t = it == graph.outputs.end()
                          ? nullptr
                          : produced[static_cast<size_t>(it - graph.outputs.begin())].tensor();
    if (!t)
      return walle::backend_error({"result '", name, "' that is a sequence or an empty optional"}, "tensors",
                                  "walle_session_run", "use the Python API for this model");
    out.names.push_back(name);
    out.tensors.push_back(*t);
  }
  return {};
}

Result<runtime::RunOptions> run_options(const runtime::Model& model, const Names& names,
                                        const walle_run_options_t& given) {
  constexpr double kLongest = 1e9;  // seconds, 30 years: fits nanoseconds in 64 bits
  runtime::RunOptions options;
  if (!(given.timeout >= 0))
    return walle::argument_error({"a timeout of ", given.timeout}, "0 or more seconds",
                                 "walle_session_run_with", "set it to 0 for no limit");
  if (given.timeout > 0)
    options.timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::min(given.timeout, kLongest)));
  if (given.cancel) options.cancel = &given.cancel->token;
  if (given.memory_count == 0) return options;
  if (!given.memory) return null_argument("memory", "walle_session_run_with");
  const walle::ir::Graph& graph = model.graph();
  options.results.resize(graph.outputs.size());
  for (size_t i = 0; i < given.memory_count; ++i) {
    WALLE_ASSIGN(const runtime::NamedValue memory, read_tensor(given.memory[i], kRun, "memory for result"));
    const auto it = std::ranges::find(names, memory.name, &Names::value_type::first);
    if (it == names.end())
      return walle::argument_error({"memory for result '", memory.name, "'"}, "the name of a result",
                                   "walle_session_run_with", "see walle_model_output");
    const auto at = std::ranges::find_if(
        graph.outputs, [&](walle::ir::ValueId id) { return graph.at(id).name == it->second; });
    options.results[at - graph.outputs.begin()] = *memory.value.tensor();
  }
  return options;
}

}  // namespace

extern "C" {

walle_status_t walle_session_run_with(walle_session_t* session, const walle_run_options_t* options,
                                      const walle_tensor_t* inputs, size_t count, walle_results_t** results,
                                      walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !results || (count && !inputs))
      return null_argument(!session ? "session" : !results ? "results" : "inputs", "walle_session_run");
    *results = nullptr;
    WALLE_ASSIGN(const walle_run_options_t given,
                 copy_options<walle_run_options_t>(options, "walle_run_options_t", "walle_session_run"));
    WALLE_ASSIGN(const walle::ir::Signature names, signature_of(*session->model, given.signature));
    std::vector<runtime::NamedValue> values;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(values.emplace_back(), read_tensor(inputs[i], kRun, "input"));
    }
    WALLE_TRY(rename_inputs(names.inputs, names.name, values));
    WALLE_ASSIGN(const runtime::RunOptions chosen, run_options(*session->model, names.outputs, given));
    WALLE_ASSIGN(const auto produced, session->session->run(values, chosen));
    auto out = std::make_unique<walle_results_t>();
    WALLE_TRY(collect(*session, names.outputs, produced, *out));
    *results = out.release();
    return {};
  });
}

walle_status_t walle_session_run_signature(walle_session_t* session, const char* signature,
                                           const walle_tensor_t* inputs, size_t count,
                                           walle_results_t** results, walle_error_t* error) {
  walle_run_options_t options{};
  options.struct_size = sizeof(options);
  options.signature = signature;
  return walle_session_run_with(session, &options, inputs, count, results, error);
}

walle_status_t walle_session_prepare(walle_session_t* session, const walle_tensor_t* inputs, size_t count,
                                     walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || (count && !inputs))
      return null_argument(session ? "inputs" : "session", "walle_session_prepare");
    std::vector<runtime::NamedValue> shapes;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(shapes.emplace_back(),
                   walle::capi::read_shape(inputs[i], "walle_session_prepare", "input"));
    }
    return session->session->prepare(shapes);
  });
}

// NULL without memory: there is no error to fill, and a run takes NULL for a token that nobody cancels.
walle_cancel_t* walle_cancel_create(void) { return new (std::nothrow) walle_cancel_t; }
void walle_cancel_request(walle_cancel_t* cancel) {
  if (cancel) cancel->token.cancel();
}
void walle_cancel_free(walle_cancel_t* cancel) { delete cancel; }

walle_status_t walle_session_run(walle_session_t* session, const walle_tensor_t* inputs, size_t count,
                                 walle_results_t** results, walle_error_t* error) {
  return walle_session_run_signature(session, nullptr, inputs, count, results, error);
}

}  // extern "C"
