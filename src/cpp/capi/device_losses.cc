// walle_device_losses: what is gone of a device.
#include <vector>

#include "capi/device_handle.h"
#include "capi/guard.h"
#include "walle/device.h"

using walle::Status;
using walle::capi::guarded;
using walle::capi::null_argument;

// The C structs that are handed out point into `told`, which therefore lives as long as the list.
struct walle_device_losses_t {
  std::vector<walle::container::DeviceLoss> told;
  std::vector<walle_loss_t> plain;
};

namespace {

walle_loss_t plain_loss(const walle::container::DeviceLoss& given) {
  const walle::store::Loss& loss = given.loss;
  return {.what = given.what.data(),                               // a literal
          .kind = walle::store::loss_kind_name(loss.kind).data(),  // likewise
          .name = loss.owner.c_str(),
          .first = loss.first,
          .last = loss.last,
          .count = loss.count,
          .noticed = loss.noticed_us,
          .cause = loss.cause.c_str(),
          .exact = loss.exact};
}

}  // namespace

extern "C" {

walle_status_t walle_device_losses(walle_device_t* device, int verify, walle_device_losses_t** losses,
                                   walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !losses) return null_argument(!device ? "device" : "losses", "walle_device_losses");
    *losses = nullptr;
    WALLE_ASSIGN(const auto open, device->device->core("walle_device_losses"));
    auto made = std::make_unique<walle_device_losses_t>();
    WALLE_ASSIGN(made->told, open->losses(verify != 0));
    for (const auto& loss : made->told) made->plain.push_back(plain_loss(loss));
    *losses = made.release();
    return {};
  });
}

size_t walle_device_losses_count(const walle_device_losses_t* losses) {
  return losses ? losses->plain.size() : 0;
}

const walle_loss_t* walle_device_losses_at(const walle_device_losses_t* losses, size_t index) {
  return losses && index < losses->plain.size() ? &losses->plain[index] : nullptr;
}

void walle_device_losses_free(walle_device_losses_t* losses) { delete losses; }

walle_status_t walle_device_acknowledge_losses(walle_device_t* device, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device) return null_argument("device", "walle_device_acknowledge_losses");
    WALLE_ASSIGN(const auto open, device->device->core("walle_device_acknowledge_losses"));
    return open->acknowledge_losses();
  });
}

}  // extern "C"
