// BrokerAddress: where a tunnel's broker is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/env.h"

namespace walle::link {

struct BrokerAddress {
  std::string host;
  uint16_t port = 8883;
};

// "mqtts://host:port" or "host:port"; the port may be missing, IPv6 addresses stand in brackets. No TLS is no
// choice: an error for "mqtt://".
Result<BrokerAddress> parse_broker(std::string_view url);

// The address in `file`, where the server's newest one is written down; without a file it stays as it is.
Status follow_broker(Env& env, const std::string& file, BrokerAddress& address);

}  // namespace walle::link
