// TlsSocket: TCP and TLS to one host. Small writes leave at once (TCP_NODELAY): 44 ms a record otherwise,
// which is a peer's delayed acknowledgement.
//
// The name is looked up by the system's resolver, which cannot be interrupted and has time limits of its own.
// Threads: as the seam says.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/env.h"
#include "link/tls.h"
#include "link/tunnel/broker_address.h"
#include "link/tunnel/socket.h"

namespace walle::link {

class TlsSocket final : public Socket {
 public:
  static Result<std::unique_ptr<TlsSocket>> make(Env& env, BrokerAddress address, TlsFiles files);
  ~TlsSocket() override;

  // With the certificate that the files have by now, to the address that they have.
  Status open(int64_t timeout_us) override;
  void close() override;
  Result<size_t> send(std::string_view bytes) override;
  Result<size_t> receive(std::span<char> to) override;
  void wait(int64_t timeout_us, bool writable) override;
  void wake() override;
  void interrupt() override;

  // As of the end of the newest open(), wait() or close().
  SocketCounts counts() const override;

 private:
  TlsSocket(Env& env, BrokerAddress address) : env_(env), address_(std::move(address)) {}
  Status dial(int64_t until);
  Status shake_hands(int64_t until);
  Status await(short events, int64_t until, std::string_view what);
  Status flush();
  Result<bool> fill();
  void tell();
  Error broken(Text doing, int code) const;

  Env& env_;
  BrokerAddress address_;
  std::string moved_;  // file of another address
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsStream> tls_;
  std::string sealed_;  // what the kernel has not taken
  SocketCounts counts_;
  mutable std::mutex lock_;  // of published_
  SocketCounts published_;
  int fd_ = -1;
  int pipe_[2] = {-1, -1};  // wakes poll()
  std::atomic<bool> interrupted_{false};
};

}  // namespace walle::link
