#include "container/link/device_tunnel.h"

#include "link/tunnel/tls_socket.h"

namespace walle::container {

Result<std::unique_ptr<DeviceTunnel>> DeviceTunnel::open(Env& env, const Device& device,
                                                         DeviceTunnelOptions options,
                                                         link::TunnelListener listener) {
  std::unique_ptr<DeviceTunnel> out(new DeviceTunnel(env, device, std::move(options.on_answer)));
  Line& line = *out->line_;
  listener.answers = &line.answers;
  WALLE_ASSIGN(link::BrokerAddress address, link::parse_broker(options.broker));
  if (options.stream) {
    line.socket = std::make_unique<link::StreamSocket>(env, std::move(options.stream), std::move(address),
                                                       std::move(options.files));
  } else {
    WALLE_ASSIGN(line.socket, link::TlsSocket::make(env, std::move(address), std::move(options.files)));
  }
  WALLE_ASSIGN(line.tunnel, link::Tunnel::make(env, line.source, *line.socket, std::move(options.tunnel),
                                               std::move(listener)));
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, device.core("tunnel"));
  line.rings = true;
  const std::weak_ptr<Line> there = out->line_;
  open->commits().on_send([there] {
    const std::shared_ptr<Line> held = there.lock();
    if (!held) return;
    const std::lock_guard lock(held->lock);
    if (held->rings) held->tunnel->notify();
  });
  WALLE_TRY(line.tunnel->start());
  const bool joined = device.attached().join(out.get(), [there] {
    if (const std::shared_ptr<Line> held = there.lock()) held->stop();
  });
  if (!joined) return argument_error("a closed device", "an open one", "tunnel", "open the folder again");
  return out;
}

DeviceTunnel::~DeviceTunnel() {
  device_.attached().leave(this);
  stop();
}

void DeviceTunnel::Line::stop() {
  {
    const std::lock_guard guard(lock);
    rings = false;
  }
  if (tunnel) tunnel->stop();
}

}  // namespace walle::container
