// The app's own connections, behind walle_stream_t.
#pragma once

#include <memory>

#include "link/tunnel/stream_socket.h"
#include "walle/device.h"

namespace walle::capi {

// nullptr for nullptr; an argument error where a function is missing.
Result<std::unique_ptr<link::ByteStream>> app_stream(const walle_stream_t* given);

}  // namespace walle::capi
