// Errors at the C boundary: values become a status and a filled walle_error_t, and nothing thrown
// (std::bad_alloc, anything from a library) passes it: C frames have no tables to unwind by.
//
// Stateless. A walle_error_t is the caller's and filled even on success, so that a stale one is never read.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/status.h"
#include "walle/walle.h"

namespace walle::capi {

// Structs carry their size, so that a program built with an older header works with a newer library: what it
// does not know stays 0, the default. Beyond this the field was not set at all; none will ever be so large.
inline constexpr size_t kMaxStructBytes = 4096;

walle_status_t report(walle_status_t status, std::string_view message, walle_error_t* out);
walle_status_t report(const Error& error, walle_error_t* out);
Error null_argument(Text name, Text function);
// As much of a caller's struct, whose size is its first field, as `out` has room for; the rest of it stays as
// it is.
Status copy_struct(const void* given, void* out, size_t out_bytes, const char* type, const char* function);
template <class Struct>
Status copy_struct(const Struct& given, Struct& out, const char* type, const char* function) {
  static_assert(offsetof(Struct, struct_size) == 0);
  return copy_struct(&given, &out, sizeof out, type, function);
}

// Runs `body` (a Status) and turns whatever leaves it into a status.
template <class Body>
walle_status_t guarded(walle_error_t* error, Body body) noexcept {
  try {
    const Status status = body();
    if (!status.ok()) return report(status.error(), error);
    return report(WALLE_OK, "", error);
  } catch (const std::bad_alloc&) {
    return report(WALLE_RESOURCE,
                  "memory is short; expected enough free memory. Next: free memory or use a smaller model",
                  error);
  } catch (const std::exception& e) {
    return report(WALLE_INTERNAL, e.what(), error);
  } catch (...) {
    return report(WALLE_INTERNAL, "unknown exception", error);
  }
}

}  // namespace walle::capi
