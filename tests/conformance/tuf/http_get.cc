#include "http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace walle::tuf {

namespace {
constexpr size_t kMostHeadBytes = 64 << 10;
constexpr timeval kPatience{30, 0};

struct Address {
  std::string host, port, path;
};

Error failed(const std::string& url, const std::string& what) {
  return network_error(what, "an HTTP reply", "'" + url + "'", "check the address and the server");
}

bool read_url(const std::string& url, Address& out) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return false;
  const size_t path = std::min(url.find('/', kScheme.size()), url.size());
  const std::string host = url.substr(kScheme.size(), path - kScheme.size());
  const size_t colon = host.find(':');
  out.host = host.substr(0, colon);
  out.port = colon == std::string::npos ? "80" : host.substr(colon + 1);
  out.path = path == url.size() ? "/" : url.substr(path);
  return !out.host.empty();
}

// One connection for one request; closed with the object.
class Connection {
 public:
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }

  bool open(const Address& to) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found) != 0) return false;
    for (const addrinfo* a = found; a && socket_ < 0; a = a->ai_next) {
      socket_ = ::socket(a->ai_family, a->ai_socktype, a->ai_protocol);
      if (socket_ < 0) continue;
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
      if (::connect(socket_, a->ai_addr, a->ai_addrlen) == 0) break;
      ::close(socket_);
      socket_ = -1;
    }
    ::freeaddrinfo(found);
    return socket_ >= 0;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // False for an error; an empty piece at the end.
  bool receive(std::string& piece) {
    char buffer[16 << 10];
    ssize_t n = -1;
    do {
      n = ::recv(socket_, buffer, sizeof buffer, 0);
    } while (n < 0 && errno == EINTR);
    piece.assign(buffer, n > 0 ? static_cast<size_t>(n) : 0);
    return n >= 0;
  }

 private:
  int socket_ = -1;
};

struct Head {
  int status = 0;
  std::optional<uint64_t> length;
};

bool read_head(std::string_view text, Head& out) {
  if (!text.starts_with("HTTP/1.") || text.size() < 12) return false;
  const auto status = std::from_chars(text.data() + 9, text.data() + 12, out.status);
  if (status.ec != std::errc()) return false;
  for (size_t at = text.find("\r\n"); at != std::string_view::npos; at = text.find("\r\n", at)) {
    at += 2;
    constexpr std::string_view kLength = "content-length:";
    if (::strncasecmp(text.data() + at, kLength.data(), std::min(kLength.size(), text.size() - at)) != 0)
      continue;
    if (text.size() - at <= kLength.size()) continue;
    const std::string_view value = text.substr(text.find_first_not_of(' ', at + kLength.size()));
    uint64_t length = 0;
    if (std::from_chars(value.data(), value.data() + value.size(), length).ec != std::errc()) return false;
    out.length = length;
  }
  return true;
}
}  // namespace

Result<int> HttpGetTransport::get(const link::HttpGet& request, const link::BodySink& body) {
  Address to;
  Connection connection;
  if (!read_url(request.url, to)) return failed(request.url, "no http:// address");
  if (!connection.open(to)) return failed(request.url, "no connection");
  const std::string range =
      request.from ? "Range: bytes=" + std::to_string(request.from) + "-\r\n" : std::string();
  if (!connection.send("GET " + to.path + " HTTP/1.1\r\nHost: " + to.host + ":" + to.port + "\r\n" + range +
                       "Connection: close\r\n\r\n"))
    return failed(request.url, "a connection that was closed");

  std::string bytes;
  std::string piece;
  size_t end = std::string::npos;
  while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
    if (!connection.receive(piece) || piece.empty() || bytes.size() > kMostHeadBytes)
      return failed(request.url, "no whole head of a reply");
    bytes += piece;
  }
  Head head;
  if (!read_head(std::string_view(bytes).substr(0, end + 2), head))
    return failed(request.url, "no HTTP reply");
  if (head.status != 200 && head.status != 206) return head.status;
  piece = bytes.substr(end + 4);
  uint64_t received = 0;
  do {
    received += piece.size();
    WALLE_TRY(body(piece));
    if (head.length && received >= *head.length) break;
    if (!connection.receive(piece)) return failed(request.url, "a reply that was cut off");
  } while (!piece.empty());
  if (head.length && received != *head.length) return failed(request.url, "a reply that was cut off");
  return head.status;
}

}  // namespace walle::tuf
