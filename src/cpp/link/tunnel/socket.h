// Socket: the seam to the network: one connection at a time, of bytes in order. TlsSocket on a device, or
// StreamSocket over the app's own TLS; an in-memory broker of a test.
//
// Nothing of it blocks but open() and wait(). One thread uses it; wake() and interrupt() are for any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

struct SocketCounts {  // since it was made
  uint64_t opened = 0, resumed = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;  // of TCP; of a stream of the app's, before its TLS
  uint64_t handshake_bytes = 0;                 // of those, both ways
  int64_t handshake_us = 0;                     // of the newest
};

class Socket {
 public:
  virtual ~Socket() = default;
  // A new connection to the peer it was made for, authenticated. The old one is closed.
  virtual Status open(int64_t timeout_us) = 0;
  virtual void close() = 0;
  // How many of the first bytes were taken; 0: none now.
  virtual Result<size_t> send(std::string_view bytes) = 0;
  // How many bytes came; 0: none now. The end of the connection is an error of group network.
  virtual Result<size_t> receive(std::span<char> to) = 0;
  // Until bytes came, wake(), or the time is over (negative: never); with `writable` also until bytes can be
  // taken. Without a connection: until wake() or the time.
  virtual void wait(int64_t timeout_us, bool writable) = 0;
  // Ends a wait(), also the next one if none is under way.
  virtual void wake() = 0;
  // Ends an open() under way with an error, and every later one: somebody wants to stop.
  virtual void interrupt() = 0;
  // From any thread.
  virtual SocketCounts counts() const { return {}; }
};

}  // namespace walle::link
