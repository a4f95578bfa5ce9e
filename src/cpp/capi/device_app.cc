// walle_device_provide, walle_app_return, walle_app_fail: what tasks ask the application.
#include <deque>

#include "capi/app_function.h"
#include "capi/device_handle.h"
#include "capi/guard.h"
#include "capi/vm_result.h"

using walle::Status;
using walle::capi::guarded;
using walle::capi::null_argument;

struct walle_app_answer_t {
  walle::Result<walle::vm::Value> value = walle::vm::Value();
};

namespace walle::capi {

container::AppFunction app_function(walle_app_fn function, void* user) {
  return [function, user](std::span<const vm::Value> arguments) {
    // A PlainValue stays where it is: its plain form points into it.
    std::deque<PlainValue> held;
    std::vector<walle_vm_value_t> plain;
    for (const vm::Value& one : arguments) plain.push_back(held.emplace_back(one).plain());
    walle_app_answer_t answer;
    function(user, plain.data(), plain.size(), &answer);
    return std::move(answer.value);
  };
}

}  // namespace walle::capi

extern "C" {

walle_status_t walle_device_provide(walle_device_t* device, const char* name, walle_app_fn function,
                                    void* user, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    constexpr const char* kProvide = "walle_device_provide";
    if (!device || !name) return null_argument(!device ? "device" : "name", kProvide);
    WALLE_ASSIGN(const std::shared_ptr<walle::container::DeviceCore> open, device->device->core(kProvide));
    return open->provide(name, function ? walle::capi::app_function(function, user) : nullptr);
  });
}

walle_status_t walle_app_return(walle_app_answer_t* answer, const walle_vm_value_t* value,
                                walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!answer || !value) return null_argument(!answer ? "answer" : "value", "walle_app_return");
    WALLE_ASSIGN(walle::vm::Value read, walle::capi::read_value(*value));
    answer->value = std::move(read);
    return {};
  });
}

walle_status_t walle_app_fail(walle_app_answer_t* answer, const char* text, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!answer || !text) return null_argument(!answer ? "answer" : "text", "walle_app_fail");
    answer->value =
        walle::task_error(std::string(text), "a function that returns", "", "see the application");
    return {};
  });
}

}  // extern "C"
