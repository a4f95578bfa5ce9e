// What stands behind walle_device_t: a device, and its server while it is connected.
#pragma once

#include <memory>
#include <mutex>

#include "container/device/device_face.h"
#include "container/link/device_cloud.h"

struct walle_device_t {
  explicit walle_device_t(std::unique_ptr<walle::container::DeviceFace> opened) : face(std::move(opened)) {}

  // nullptr: not connected. Held by a call, which may outlast a disconnect().
  std::shared_ptr<walle::container::DeviceCloud> connection() {
    const std::lock_guard guard(lock_);
    return cloud_;
  }
  // False where there is one already.
  bool set_connection(std::shared_ptr<walle::container::DeviceCloud> cloud) {
    const std::lock_guard guard(lock_);
    if (cloud_) return false;
    cloud_ = std::move(cloud);
    return true;
  }
  void disconnect() {
    std::shared_ptr<walle::container::DeviceCloud> old;
    {
      const std::lock_guard guard(lock_);
      old = std::move(cloud_);
      cloud_ = nullptr;
    }
    if (old) old->stop();
  }

  std::unique_ptr<walle::container::DeviceFace> face;

 private:
  std::mutex lock_;
  std::shared_ptr<walle::container::DeviceCloud> cloud_;  // goes before the device does
};
