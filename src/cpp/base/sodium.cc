#include "base/sodium.h"

#include <sodium.h>

namespace walle::base {

Status sodium_ready() {
  static const bool ready = sodium_init() >= 0;
  return ready ? Status() : internal_error("libsodium could not be started", "base");
}

}  // namespace walle::base
