// State values: which a model has (model.cc says what they are declared as), and what a session keeps in
// them.
#include "capi/handles.h"
#include "capi/tensors.h"

namespace {
using walle::capi::guarded;
using walle::capi::null_argument;
}  // namespace

extern "C" {

walle_status_t walle_session_state(walle_session_t* session, const char* name, walle_results_t** contents,
                                   walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !name || !contents)
      return null_argument(!session ? "session" : !name ? "name" : "contents", "walle_session_state");
    *contents = nullptr;
    WALLE_ASSIGN(walle::Tensor copy, session->session->state(name));
    auto out = std::make_unique<walle_results_t>();
    out->names.emplace_back(name);
    out->tensors.push_back(std::move(copy));
    *contents = out.release();
    return {};
  });
}

walle_status_t walle_session_set_state(walle_session_t* session, const walle_tensor_t* value,
                                       walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !value) return null_argument(session ? "value" : "session", "walle_session_set_state");
    WALLE_ASSIGN(const walle::runtime::NamedValue given,
                 walle::capi::read_tensor(*value, "walle_session_set_state", "state"));
    return session->session->set_state(given.name, *given.value.tensor());
  });
}

walle_status_t walle_session_reset_states(walle_session_t* session, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session) return null_argument("session", "walle_session_reset_states");
    return session->session->reset_states();
  });
}

}  // extern "C"
