// The seam to the network: GET, in pieces, whoever does it - the app's own stack, libcurl, an in-memory
// server of a test.
//
// An implementation follows no more than a few redirects, has time limits of its own for connecting and for a
// reply that comes no further, and keeps nothing of a body: how much of it is wanted says the sink, whose
// error ends the transfer. So a server that never stops sending meets its reader's limit and not the device's
// memory. Not synchronised: one transport, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

struct HttpGet {
  std::string url;
  uint64_t from = 0;  // bytes from here on (a Range request); a server that cannot answers 200 with all of it
};

// Pieces of a body in their order.
using BodySink = std::function<Status(std::string_view piece)>;

class Transport {
 public:
  virtual ~Transport() = default;
  // Which one runs, for logs: "libcurl", "the app's".
  virtual std::string name() const = 0;
  // The HTTP status of the reply. Only bodies of 200 and 206 reach the sink. An error where there was no
  // reply, where it was cut off (fewer bytes than Content-Length said), and the sink's own.
  virtual Result<int> get(const HttpGet& request, const BodySink& body) = 0;
};

struct Fetched {
  int status = 0;
  std::string body;
};

// The whole body, at most `most` bytes of it; a longer one is an error as soon as it is seen.
Result<Fetched> fetch(Transport& transport, const std::string& url, uint64_t most);

}  // namespace walle::link
