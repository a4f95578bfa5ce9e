// The app's own keys, behind walle_keys_t.
#pragma once

#include <memory>

#include "link/agent/device_key.h"
#include "walle/device.h"

namespace walle::capi {

// nullptr for nullptr; an argument error where a function is missing.
Result<std::unique_ptr<link::KeyStore>> app_keys(const walle_keys_t* given);

}  // namespace walle::capi
