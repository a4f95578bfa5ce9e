// Functions of the application as C gives them.
#pragma once

#include "container/device/app_functions.h"
#include "walle/device.h"

namespace walle::capi {

container::AppFunction app_function(walle_app_fn function, void* user);

}  // namespace walle::capi
