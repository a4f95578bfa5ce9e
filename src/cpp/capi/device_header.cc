// The device's header for requests, from C.
#include <algorithm>
#include <cstring>

#include "capi/guard.h"
#include "link/policy/device_header.h"
#include "walle/device.h"

namespace link = walle::link;
using walle::Status;
using walle::capi::guarded;
using walle::capi::null_argument;

namespace {

constexpr const char* kFunction = "walle_profile_header";

std::string text_of(const char* given) { return given ? given : ""; }

}  // namespace

extern "C" walle_status_t walle_profile_header(const walle_device_profile_t* profile,
                                               char text[WALLE_DEVICE_HEADER_BYTES], walle_error_t* error) {
  static_assert(WALLE_DEVICE_HEADER_BYTES == link::kHeaderText + 1);
  return guarded(error, [&]() -> Status {
    if (!profile || !text) return null_argument(profile ? "text" : "profile", kFunction);
    // What the caller's header did not know stays unknown.
    walle_device_profile_t given{};
    WALLE_TRY(walle::capi::copy_struct(*profile, given, "walle_device_profile_t", kFunction));
    WALLE_ASSIGN(link::DeviceHeader header, link::header_of({.app = text_of(given.app),
                                                             .app_version = text_of(given.app_version),
                                                             .os = text_of(given.os),
                                                             .os_version = text_of(given.os_version),
                                                             .device = text_of(given.device),
                                                             .op_set = text_of(given.op_set),
                                                             .vm = text_of(given.vm),
                                                             .device_id = text_of(given.device_id),
                                                             .ram_mb = given.ram_mb}));
    header.active = given.active;
    header.epoch = static_cast<uint32_t>(given.epoch);
    const std::string encoded = link::encode_text(header);
    std::memcpy(text, encoded.c_str(), encoded.size() + 1);
    return {};
  });
}
