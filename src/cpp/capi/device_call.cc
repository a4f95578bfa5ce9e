// walle_device_call, walle_device_features, walle_device_set_params: what an application asks a task, and
// tells it.
#include <cmath>

#include "capi/device_handle.h"
#include "capi/guard.h"
#include "capi/vm_result.h"
#include "walle/device.h"

using walle::Status;
using walle::capi::guarded;
using walle::capi::null_argument;

namespace {

constexpr const char* kCall = "walle_device_call";

// Seconds; a year is for ever.
walle::Result<std::optional<std::chrono::microseconds>> patience_of(double timeout) {
  constexpr double kLongest = 3.2e7;
  if (std::isnan(timeout) || timeout < 0)
    return walle::argument_error("a timeout that is negative or no number", "seconds, or 0 for none", kCall,
                                 "pass 0");
  if (timeout == 0) return std::optional<std::chrono::microseconds>();
  return std::optional(std::chrono::microseconds(static_cast<int64_t>(std::min(timeout, kLongest) * 1e6)));
}

}  // namespace

extern "C" {

walle_status_t walle_device_call(walle_device_t* device, const char* task, const char* function,
                                 const walle_vm_value_t* arguments, size_t count, double timeout,
                                 walle_vm_result_t** result, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !task || !function || !result || (count != 0 && !arguments))
      return null_argument(!device     ? "device"
                           : !task     ? "task"
                           : !function ? "function"
                           : !result   ? "result"
                                       : "arguments",
                           kCall);
    *result = nullptr;
    WALLE_ASSIGN(const auto patience, patience_of(timeout));
    std::vector<walle::vm::Value> values;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(values.emplace_back(), walle::capi::read_value(arguments[i]));
    }
    WALLE_ASSIGN(walle::vm::Value answer, device->device->call(task, function, values, patience));
    auto made = std::make_unique<walle_vm_result_t>();
    made->value = std::make_unique<walle::capi::PlainValue>(std::move(answer));
    *result = made.release();
    return {};
  });
}

walle_status_t walle_device_features(walle_device_t* device, const char* task, const char* name,
                                     const walle_vm_value_t* keys, walle_vm_result_t** result,
                                     walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    constexpr const char* kFeatures = "walle_device_features";
    if (!device || !task || !name || !keys || !result)
      return null_argument(!device ? "device"
                           : !task ? "task"
                           : !name ? "name"
                           : !keys ? "keys"
                                   : "result",
                           kFeatures);
    *result = nullptr;
    WALLE_ASSIGN(const std::shared_ptr<walle::container::DeviceCore> open, device->device->core(kFeatures));
    WALLE_ASSIGN(const walle::vm::Value given, walle::capi::read_value(*keys));
    const auto* list = given.get<walle::vm::List>();
    if (!list)
      return walle::argument_error("keys that are no list", "a list of keys", kFeatures,
                                   "pass a value of kind WALLE_KIND_LIST");
    WALLE_ASSIGN(walle::vm::List values, open->features(task, name, *list));
    auto made = std::make_unique<walle_vm_result_t>();
    made->value = std::make_unique<walle::capi::PlainValue>(walle::vm::Value(std::move(values)));
    *result = made.release();
    return {};
  });
}

walle_status_t walle_device_set_params(walle_device_t* device, const char* task,
                                       const walle_vm_value_t* params, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    constexpr const char* kSetParams = "walle_device_set_params";
    if (!device || !task || !params)
      return null_argument(!device ? "device" : !task ? "task" : "params", kSetParams);
    WALLE_ASSIGN(const std::shared_ptr<walle::container::DeviceCore> open, device->device->core(kSetParams));
    WALLE_ASSIGN(const walle::vm::Value given, walle::capi::read_value(*params));
    if (const auto* map = given.get<walle::vm::Map>()) return open->set_params(task, *map);
    return walle::argument_error("params that are no map", "a map of values by name", kSetParams,
                                 "pass a value of kind WALLE_KIND_MAP");
  });
}

}  // extern "C"
