// Sessions: made, looked at, and the results of their runs (run.cc).
#include <algorithm>

#include "base/thread_pool.h"
#include "capi/handles.h"
#include "capi/tensors.h"

namespace {

using walle::capi::guarded;
using walle::capi::index_error;
using walle::capi::null_argument;
namespace runtime = walle::runtime;

// NULL and 0 are what a zeroed struct holds, so they must mean the default.
void take(const char* given, std::string& option) {
  if (given) option = given;
}
void take(int32_t given, int& option) {
  if (given) option = given;
}
void take(int64_t given, int64_t& option) { option = given; }

}  // namespace

extern "C" {

walle_status_t walle_session_create(const walle_model_t* model, const walle_session_options_t* options,
                                    walle_session_t** session, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!model || !session) return null_argument(model ? "session" : "model", "walle_session_create");
    *session = nullptr;
    WALLE_ASSIGN(const walle_session_options_t given,
                 walle::capi::copy_options<walle_session_options_t>(options, "walle_session_options_t",
                                                                    "walle_session_create"));
    runtime::SessionOptions chosen;
    chosen.threads = walle::base::available_processors();
#define WALLE_SESSION_OPTION(type, name, value) take(given.name, chosen.name);
#include "runtime/session_option.inc"
    if (given.debug) {
      WALLE_ASSIGN(chosen.debug, runtime::parse_debug(given.debug));
    }
    WALLE_ASSIGN(auto made, model->model->session(chosen));
    *session = new walle_session_t{model->model, std::move(made), {}, {}, {}};
    return {};
  });
}

void walle_session_free(walle_session_t* session) { delete session; }

walle_status_t walle_session_explain(walle_session_t* session, const char** text, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !text) return null_argument(session ? "text" : "session", "walle_session_explain");
    // Kept by the session: the text lives until it is asked for again, and the caller frees nothing.
    session->plan.clear();
    for (const runtime::ExplainRow& row : session->session->explain().rows) {
      session->plan += row.op + " " + row.backend + " " + row.algorithm + " " + row.output + " predicted " +
                       std::to_string(row.predicted_ms * 1e3) + " us";
      if (row.measured_runs > 0)
        session->plan += " measured " + std::to_string(row.measured_ms * 1e3) + " us";
      session->plan += " # " + row.node + "\n";
    }
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
    walle::capi::show_tensor(results->names[index], results->tensors[index], *tensor);
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
      return walle::argument_error({"'", name, "'"}, "the name of an output", "walle_results_find",
                                   "see walle_model_output");
    walle::capi::show_tensor(*it, results->tensors[static_cast<size_t>(it - results->names.begin())],
                             *tensor);
    return {};
  });
}

}  // extern "C"
