#include "link/tunnel/broker_address.h"

#include <charconv>

namespace walle::link {

namespace {
constexpr size_t kMostAddressBytes = 512;

Error bad_address(Text url) {
  return argument_error({"'", url, "'"}, "mqtts://host:port", "the broker's address",
                        "take the address that the server printed; without TLS there is no tunnel");
}
}  // namespace

Result<BrokerAddress> parse_broker(std::string_view url) {
  std::string_view rest = url;
  if (const size_t scheme = rest.find("://"); scheme != rest.npos) {
    if (rest.substr(0, scheme) != "mqtts") return bad_address(url);
    rest.remove_prefix(scheme + 3);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  BrokerAddress out;
  size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == rest.npos) return bad_address(url);
    out.host = rest.substr(1, end - 1);
    colon = end + 1 < rest.size() ? end + 1 : rest.npos;
    if (colon != rest.npos && rest[colon] != ':') return bad_address(url);
  } else {
    out.host = rest.substr(0, colon);
  }
  if (colon != rest.npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size() || out.port == 0) return bad_address(url);
  }
  if (out.host.empty() || out.host.size() > 253 || out.host.find_first_of("/@?# :") != std::string::npos)
    if (!rest.starts_with('[') || out.host.empty()) return bad_address(url);
  return out;
}

Status follow_broker(Env& env, const std::string& file, BrokerAddress& address) {
  if (file.empty() || env.file_size(file) <= 0) return {};
  WALLE_ASSIGN(const std::string said, env.read_prefix(file, kMostAddressBytes));
  WALLE_ASSIGN(address, parse_broker(said));
  return {};
}

}  // namespace walle::link
