// The tunnel of a device: its outbox, a TLS connection with the broker, and the thread between them, woken by
// every commit that sends.
//
// Threads: any, for every call. The device outlives it; it is stopped before the device is closed, or finds
// out by itself and sends nothing more.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "container/link/answer_book.h"
#include "container/link/outbox_source.h"
#include "link/tunnel/tls_socket.h"
#include "link/tunnel/tunnel.h"

namespace walle::container {

struct DeviceTunnelOptions {
  std::string broker;  // mqtts://host:port
  link::TlsFiles files;
  link::TunnelOptions tunnel;
  AnswerBook::Told on_answer;  // none: answers are in the tables alone
};

class DeviceTunnel {
 public:
  // Connects on a thread of its own when it returns. Errors: a bad address or id, files that cannot be read,
  // no libssl on this machine, a closed device.
  static Result<std::unique_ptr<DeviceTunnel>> open(Env& env, const DeviceFace& device,
                                                    DeviceTunnelOptions options,
                                                    link::TunnelListener listener = {});
  ~DeviceTunnel();  // stop()

  void stop();
  void notify() { tunnel_->notify(); }
  void network_changed() { tunnel_->network_changed(); }
  bool drain(int64_t timeout_us) { return tunnel_->drain(timeout_us); }
  link::TunnelStats stats() const { return tunnel_->stats(); }
  link::SocketCounts socket_counts() const { return socket_->counts(); }

 private:
  // What commits ring: a device that is being closed may commit behind this object's end.
  struct Bell {
    std::mutex lock;
    link::Tunnel* tunnel = nullptr;
  };
  DeviceTunnel(Env& env, const DeviceFace& device, AnswerBook::Told on_answer)
      : source_(device), answers_(env, device, std::move(on_answer)) {}

  OutboxSource source_;
  AnswerBook answers_;
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::unique_ptr<link::TlsSocket> socket_;
  std::unique_ptr<link::Tunnel> tunnel_;
};

}  // namespace walle::container
