// Handles: what stands behind the opaque handles of walle.h.
//
// A handle may be used from any thread, one call at a time; models are immutable and sessions lock
// themselves. Sessions hold the model they came from, and results hold nothing of either, so handles may be
// freed in any order.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "capi/guard.h"
#include "runtime/model.h"
#include "runtime/session.h"

struct walle_model_t {
  std::shared_ptr<walle::runtime::Model> model;
};

struct walle_session_t {
  std::shared_ptr<walle::runtime::Model> model;
  std::unique_ptr<walle::runtime::Session> session;
  std::string plan;  // of the last walle_session_explain
  // Of the last walle_session_stop_profile; the second shows the texts of the first.
  std::vector<walle::runtime::ProfileEvent> profile;
  std::vector<walle_profile_step_t> steps;
};

struct walle_cancel_t {
  walle::runtime::CancelToken token;
};

struct walle_results_t {
  std::vector<std::string> names;
  std::vector<walle::Tensor> tensors;
};

namespace walle::capi {

// As much of the caller's options as this version knows; all zero for NULL.
template <class Options>
Result<Options> copy_options(const Options* options, const char* type, const char* function) {
  Options given{};
  if (options) WALLE_TRY(copy_struct(*options, given, type, function));
  return given;
}

inline Error index_error(size_t given, size_t count, Text function) {
  return argument_error({"index ", given}, {"below ", count}, function, "ask for the count first");
}

}  // namespace walle::capi
