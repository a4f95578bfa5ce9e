// Profiles of a session's runs, step by step.
#include "capi/handles.h"

using walle::capi::guarded;
using walle::capi::null_argument;

extern "C" {

walle_status_t walle_session_start_profile(walle_session_t* session, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session) return null_argument("session", "walle_session_start_profile");
    return session->session->start_profile();
  });
}

walle_status_t walle_session_stop_profile(walle_session_t* session, const walle_profile_step_t** steps,
                                          size_t* count, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session || !steps || !count)
      return null_argument(!session ? "session" : !steps ? "steps" : "count", "walle_session_stop_profile");
    WALLE_ASSIGN(session->profile, session->session->stop_profile());
    session->steps.clear();
    for (const walle::runtime::ProfileEvent& e : session->profile)
      session->steps.push_back(
          {e.name.c_str(), e.op.c_str(), e.backend.c_str(), e.algorithm.c_str(), e.start_us, e.duration_us});
    *steps = session->steps.data();
    *count = session->steps.size();
    return {};
  });
}

}  // extern "C"
