// Transport: the seam to the network: GET and POST, replies in pieces, whoever does it - the app's own
// stack, libcurl, Python's http.client, an in-memory server of a test.
//
// An implementation follows no more than a few redirects of a GET and none of a POST, has time limits of its
// own for connecting and for a reply that comes no further, and keeps nothing of a body: how much of it is
// wanted says the sink, whose error ends the transfer. So a server that never stops sending meets its
// reader's limit and not the device's memory. Not synchronised: one transport, one thread; but cancel() comes
// from any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

// Statuses that replies are told apart by (RFC 9110, 15).
inline constexpr int kHttpOk = 200, kHttpPartial = 206, kHttpUnauthorized = 401, kHttpForbidden = 403,
                     kHttpNotSatisfiable = 416, kHttpTooMany = 429;

// Neither name nor value holds a line end: whoever makes one has made it of letters it knows.
struct HttpHeader {
  std::string name, value;
};

struct HttpGet {
  std::string url;
  // Bytes from here on (a Range request). Of a server that knows no ranges and sends all of it the transport
  // leaves out what lies before: a sink sees the same bytes either way.
  uint64_t from = 0;
  std::vector<HttpHeader> headers = {};
};

struct HttpPost {
  std::string url;
  std::string content_type;
  std::string body;
  std::vector<HttpHeader> headers = {};
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
  // The same for a POST; the bodies of any 2xx and of 429 reach the sink. One that only fetches says so.
  virtual Result<int> post(const HttpPost& request, const BodySink& body);
  // What is under way, and whatever is asked from now on, ends soon with an error. From any thread.
  virtual void cancel() {}
};

struct Fetched {
  int status = 0;
  std::string body;
};

// The whole body, at most `most` bytes of it; a longer one is an error as soon as it is seen.
Result<Fetched> fetch(Transport& transport, const std::string& url, uint64_t most,
                      std::vector<HttpHeader> headers = {});
Result<Fetched> send(Transport& transport, const HttpPost& request, uint64_t most);

// Of a signed request that was answered with 401.
Error unknown_device(const std::string& url);

}  // namespace walle::link
