// StreamSocket: a Socket over a stream that somebody else brings, whose calls block: the platform's TLS
// behind an app's callbacks, a pipe of a test.
//
// A stream is read by one thread and written by another, which live as long as a connection does: a write
// that does not get on must not keep what comes from being read, nor anybody from stopping.
//
// Threads: as the seam says.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/loop_thread.h"
#include "link/tls.h"
#include "link/tunnel/broker_address.h"
#include "link/tunnel/socket.h"

namespace walle::link {

// One connection at a time. read() and write() are called by one thread each, at the same time; cancel() by
// any.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Returns within `timeout_us`, or soon behind a cancel().
  virtual Status connect(const BrokerAddress& peer, const TlsFiles& files, int64_t timeout_us) = 0;
  // Waits for a byte at least; 0: the peer has ended the connection.
  virtual Result<size_t> read(std::span<char> to) = 0;
  // Waits until a byte at least is taken.
  virtual Result<size_t> write(std::string_view bytes) = 0;
  // Ends the calls under way, and every later read() and write() of this connection, soon.
  virtual void cancel() = 0;
  // Behind the last call of a connection.
  virtual void close() = 0;
};

class StreamSocket final : public Socket {
 public:
  StreamSocket(Env& env, std::unique_ptr<ByteStream> stream, BrokerAddress address, TlsFiles files)
      : env_(env), stream_(std::move(stream)), address_(std::move(address)), files_(std::move(files)) {}
  ~StreamSocket() override { close(); }

  Status open(int64_t timeout_us) override;
  // What was taken and is not written yet has 0.2 s to leave.
  void close() override;
  Result<size_t> send(std::string_view bytes) override;
  Result<size_t> receive(std::span<char> to) override;
  void wait(int64_t timeout_us, bool writable) override;
  void wake() override;
  void interrupt() override;
  SocketCounts counts() const override;

 private:
  int64_t read_step();
  int64_t write_step();
  void end(Text doing, const Status& why);
  Error broken(Text doing, Text why) const;

  Env& env_;
  const std::unique_ptr<ByteStream> stream_;
  BrokerAddress address_;
  const TlsFiles files_;
  // Of a connection; nullptr: there is none.
  std::unique_ptr<base::LoopThread> reader_, writer_;

  mutable std::mutex lock_;  // of what follows
  std::condition_variable changed_;
  std::string in_, out_;       // read and not asked for; taken and not written
  std::optional<Error> over_;  // why the connection has ended
  bool connecting_ = false, woken_ = false, interrupted_ = false;
  SocketCounts counts_;
};

}  // namespace walle::link
