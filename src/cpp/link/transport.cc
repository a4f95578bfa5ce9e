#include "link/transport.h"

namespace walle::link {

namespace {
BodySink collect(std::string& into, const std::string& url, uint64_t most) {
  return [&into, &url, most](std::string_view piece) -> Status {
    if (piece.size() > most - into.size())
      return network_error({"more than ", most, " bytes"}, "at most that many", {"'", url, "'"},
                           "look at what the server sends; nothing of it was used");
    into += piece;
    return {};
  };
}
}  // namespace

Result<int> Transport::post(const HttpPost& request, const BodySink&) {
  return network_error("a POST", {"a transport that sends; this one (", name(), ") only fetches"},
                       {"'", request.url, "'"}, "give a transport with post()");
}

Result<Fetched> fetch(Transport& transport, const std::string& url, uint64_t most,
                      std::vector<HttpHeader> headers) {
  Fetched out;
  WALLE_ASSIGN(out.status,
               transport.get({.url = url, .headers = std::move(headers)}, collect(out.body, url, most)));
  return out;
}

Result<Fetched> send(Transport& transport, const HttpPost& request, uint64_t most) {
  Fetched out;
  WALLE_ASSIGN(out.status, transport.post(request, collect(out.body, request.url, most)));
  return out;
}

Error unknown_device(const std::string& url) {
  return network_error("a server that does not know this device", "one that it enrolled with",
                       {"'", url, "'"},
                       "look at the device's clock; a device that was removed, or whose certificate has "
                       "expired, enrols again with a new code");
}

}  // namespace walle::link
