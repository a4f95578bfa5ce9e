// libsodium, which is compiled into us: made ready before its first function is called.
//
// Thread-safe. Who includes <sodium.h> calls sodium_ready() first.
#pragma once

#include "base/status.h"

namespace walle::base {

// An internal error where it could not be; the same answer ever after.
Status sodium_ready();

}  // namespace walle::base
