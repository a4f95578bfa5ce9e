// The topics of _core.device, and what they share.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "container/device/device.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace py = pybind11;

// Closing waits for firings, whose callbacks wait for Python's lock.
using DeviceHeld = std::unique_ptr<container::Device, DeleteUnlocked>;
using DeviceClass = py::class_<container::Device, DeviceHeld>;

// bind_device_<name>() lives in pybind/device_<name>.cc.
void bind_device_tasks(DeviceClass& device);
void bind_device_results(DeviceClass& device);
void bind_device_outbox(DeviceClass& device);

// Held by whoever may call it, on threads of the device's own (device_tasks.cc).
container::AppFunction app_function(const py::object& function);

// Runs `body` without Python's lock.
template <class Body>
auto unlocked(const Body& body) {
  const PythonUnlocked guard;
  return body();
}

// The same, on the open device.
template <class Body>
auto on_device(container::Device& device, const char* call, const Body& body) {
  std::shared_ptr<container::DeviceCore> core = unwrap(device.core(call));
  return unlocked([&] {
    // Given up without Python's lock: it may be the last hold on a device that was closed meanwhile.
    const std::shared_ptr<container::DeviceCore> held = std::move(core);
    return body(*held);
  });
}

}  // namespace walle::pybind
