// GET over plain HTTP/1.1 and a socket: what the conformance suite's servers speak. No TLS, no redirects, no
// proxies - a device's transports are others.
#pragma once

#include "link/transport.h"

namespace walle::tuf {

class HttpGetTransport final : public link::Transport {
 public:
  std::string name() const override { return "sockets"; }
  Result<int> get(const link::HttpGet& request, const link::BodySink& body) override;
};

}  // namespace walle::tuf
