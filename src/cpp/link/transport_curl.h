// libcurl: a Transport by the system's library, loaded when the first one is made: a program that connects
// nowhere, or brings a transport of its own, never sees it.
#pragma once

#include <memory>
#include <string>

#include "link/transport.h"

namespace walle::link {

struct CurlOptions {
  std::string authorities;  // PEM file; whom servers must be signed by. Empty: the system's
  int64_t connect_ms = 15'000;
  int64_t stall_s = 60;  // less than stall_bytes a second for so long ends a transfer
  int64_t stall_bytes = 100;
};

// A resource error with the remedy where no libcurl is installed.
Result<std::unique_ptr<Transport>> curl_transport(CurlOptions options = {});

}  // namespace walle::link
