// What an app calls when its system wants memory back.
#include "capi/handles.h"
#include "runtime/live_sessions.h"

namespace {
using walle::capi::guarded;
using walle::capi::null_argument;
}  // namespace

extern "C" {

walle_status_t walle_session_trim(walle_session_t* session, int64_t* bytes, walle_error_t* error) {
  return guarded(error, [&]() -> walle::Status {
    if (!session) return null_argument("session", "walle_session_trim");
    WALLE_ASSIGN(const int64_t given, session->session->trim());
    if (bytes) *bytes = given;
    return {};
  });
}

int64_t walle_trim(void) { return walle::runtime::trim_sessions(); }

}  // extern "C"
