// What stands behind the opaque handles of walle.h.
//
// A handle may be used from any thread, one call at a time; models are immutable and sessions lock
// themselves. Sessions and results hold the model they came from, so handles may be freed in any order.
#pragma once

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
};

struct walle_results_t {
  std::shared_ptr<walle::runtime::Model> model;  // a result that is a constant lies in the model's file
  std::vector<std::string> names;
  std::vector<walle::Tensor> tensors;
};

namespace walle::capi {

inline Error index_error(size_t given, size_t count, const char* function) {
  return argument_error("index " + std::to_string(given), "below " + std::to_string(count), function,
                        "ask for the count first");
}

}  // namespace walle::capi
