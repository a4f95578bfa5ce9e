// InCallback: this thread is inside a callback of a device: on_result, a task's lines, an answer of the
// cloud, the app's own transport.
//
// A device that is being closed waits for its callbacks, and what such a callback asks it meanwhile is
// answered: otherwise whoever closes would turn a harmless question into an error, some of the time. What
// would wait for the callback's own end is refused there.
#pragma once

namespace walle::container {

class InCallback {
 public:
  // `device`: what names it (DeviceCore::name_in_callbacks()); nullptr: a thread that works for one,
  // whichever.
  explicit InCallback(const void* device = nullptr);
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  static bool here();
  // Of this device, or of whichever.
  static bool of(const void* device);
  // Of this device, by one of its workers.
  static bool at_work_for(const void* device);

 private:
  bool was_in_;
  const void* was_for_;
};

}  // namespace walle::container
