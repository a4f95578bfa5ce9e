// DeviceTunnel: the tunnel of a device: its outbox, a TLS connection with the broker, and the thread between
// them, woken by every commit that sends.
//
// Threads: any, for every call. The device outlives it; closing the device stops it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "container/link/answer_store.h"
#include "container/link/outbox_source.h"
#include "link/tunnel/stream_socket.h"
#include "link/tunnel/tunnel.h"

namespace walle::container {

struct DeviceTunnelOptions {
  std::string broker;  // mqtts://host:port
  link::TlsFiles files;
  std::unique_ptr<link::ByteStream> stream;  // the app's own; nullptr: OpenSSL's TLS
  link::TunnelOptions tunnel;
  AnswerStore::OnAnswer on_answer;  // none: answers are in the tables alone
};

class DeviceTunnel {
 public:
  // Connects on a thread of its own when it returns. Errors: a bad address or id, files that cannot be read,
  // no libssl on this machine where no stream is given, a closed device.
  static Result<std::unique_ptr<DeviceTunnel>> open(Env& env, const Device& device,
                                                    DeviceTunnelOptions options,
                                                    link::TunnelListener listener = {});
  ~DeviceTunnel();  // stop()

  void stop() { line_->stop(); }
  void notify() { line_->tunnel->notify(); }
  void network_changed() { line_->tunnel->network_changed(); }
  bool drain(int64_t timeout_us) { return line_->tunnel->drain(timeout_us); }
  link::TunnelStats stats() const { return line_->tunnel->stats(); }
  link::SocketCounts socket_counts() const { return line_->socket->counts(); }

 private:
  // What the device stops, too: a device that is being closed may do so behind this object's end.
  struct Line {
    Line(Env& env, const Device& device, AnswerStore::OnAnswer on_answer)
        : source(device), answers(env, device, std::move(on_answer)) {}
    void stop();

    OutboxSource source;
    AnswerStore answers;
    std::unique_ptr<link::Socket> socket;
    std::unique_ptr<link::Tunnel> tunnel;
    std::mutex lock;     // of rings
    bool rings = false;  // commits wake the tunnel
  };
  DeviceTunnel(Env& env, const Device& device, AnswerStore::OnAnswer on_answer)
      : device_(device), line_(std::make_shared<Line>(env, device, std::move(on_answer))) {}

  const Device& device_;
  std::shared_ptr<Line> line_;
};

}  // namespace walle::container
