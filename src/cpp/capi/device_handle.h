// Device handle: what stands behind walle_device_t: a device, and its server while it is connected.
#pragma once

#include <memory>
#include <mutex>

#include "container/device/device.h"
#include "container/link/device_cloud.h"
#include "container/link/device_tunnel.h"

namespace walle::capi {

struct Connection {
  // Errors: see DeviceTunnel::open. `broker` empty: no tunnel. `moves`: the server may name another one
  // later.
  // `stream`: the app's own; nullptr: OpenSSL's TLS.
  Status open_tunnel(const container::Device& device, const std::string& broker, bool moves,
                     std::unique_ptr<link::ByteStream> stream);
  void stop() {
    if (tunnel) tunnel->stop();
    cloud->stop();
  }

  std::unique_ptr<container::DeviceCloud> cloud;
  std::unique_ptr<container::DeviceTunnel> tunnel;  // nullptr: none. It tells the cloud, so it goes first
};

}  // namespace walle::capi

struct walle_device_t {
  explicit walle_device_t(std::unique_ptr<walle::container::Device> opened) : device(std::move(opened)) {}

  // nullptr: not connected. Held by a call, which may outlast a disconnect().
  std::shared_ptr<walle::capi::Connection> connection() {
    const std::lock_guard guard(lock_);
    return connection_;
  }
  // False where there is one already.
  bool set_connection(std::shared_ptr<walle::capi::Connection> made) {
    const std::lock_guard guard(lock_);
    if (connection_) return false;
    connection_ = std::move(made);
    return true;
  }
  void disconnect() {
    std::shared_ptr<walle::capi::Connection> old;
    {
      const std::lock_guard guard(lock_);
      old = std::move(connection_);
      connection_ = nullptr;
    }
    if (old) old->stop();
  }

  std::unique_ptr<walle::container::Device> device;

 private:
  std::mutex lock_;
  std::shared_ptr<walle::capi::Connection> connection_;  // goes before the device does
};
