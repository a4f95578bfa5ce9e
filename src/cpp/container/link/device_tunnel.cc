#include "container/link/device_tunnel.h"

namespace walle::container {

Result<std::unique_ptr<DeviceTunnel>> DeviceTunnel::open(Env& env, const DeviceFace& device,
                                                         DeviceTunnelOptions options,
                                                         link::TunnelListener listener) {
  std::unique_ptr<DeviceTunnel> out(new DeviceTunnel(env, device, std::move(options.on_answer)));
  listener.answers = &out->answers_;
  WALLE_ASSIGN(link::BrokerAddress address, link::parse_broker(options.broker));
  WALLE_ASSIGN(out->socket_, link::TlsSocket::make(env, std::move(address), std::move(options.files)));
  WALLE_ASSIGN(out->tunnel_, link::Tunnel::make(env, out->source_, *out->socket_, std::move(options.tunnel),
                                                std::move(listener)));
  WALLE_ASSIGN(const std::shared_ptr<Device> open, device.device("tunnel"));
  out->bell_->tunnel = out->tunnel_.get();
  open->commits().on_send([bell = out->bell_] {
    const std::lock_guard lock(bell->lock);
    if (bell->tunnel) bell->tunnel->notify();
  });
  WALLE_TRY(out->tunnel_->start());
  return out;
}

DeviceTunnel::~DeviceTunnel() { stop(); }

void DeviceTunnel::stop() {
  {
    const std::lock_guard lock(bell_->lock);
    bell_->tunnel = nullptr;
  }
  if (tunnel_) tunnel_->stop();
}

}  // namespace walle::container
