#include "capi/guard.h"

#include <algorithm>
#include <cstring>

namespace walle::capi {

namespace {
walle_status_t status_of(base::ErrorGroup group) {
  using Group = base::ErrorGroup;
  switch (group) {
    case Group::argument: return WALLE_ARGUMENT;
    case Group::model: return WALLE_MODEL;
    case Group::resource: return WALLE_RESOURCE;
    case Group::backend: return WALLE_BACKEND;
    case Group::task: return WALLE_TASK;
    case Group::network: return WALLE_NETWORK;
    case Group::internal: return WALLE_INTERNAL;
    case Group::timeout: return WALLE_TIMEOUT;
    case Group::cancelled: return WALLE_CANCELLED;
  }
  return WALLE_INTERNAL;
}
}  // namespace

walle_status_t report(walle_status_t status, std::string_view message, walle_error_t* out) {
  if (!out) return status;
  out->status = status;
  // Cut and always terminated: the struct lies on the caller's stack and has no room to grow.
  const size_t size = std::min(message.size(), sizeof(out->message) - 1);
  std::memcpy(out->message, message.data(), size);
  out->message[size] = '\0';
  return status;
}

walle_status_t report(const Error& error, walle_error_t* out) {
  return report(status_of(error.group()), error.message(), out);
}

Status copy_struct(const void* given, void* out, size_t out_bytes, const char* type, const char* function) {
  size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > kMaxStructBytes)
    return argument_error({"struct_size ", size}, {"sizeof(", type, ")"}, function, "set struct_size");
  std::memcpy(out, given, std::min(size, out_bytes));
  return {};
}

Error null_argument(Text name, Text function) {
  return argument_error({name, " is NULL"}, "a valid pointer", function, "check the caller");
}

}  // namespace walle::capi
