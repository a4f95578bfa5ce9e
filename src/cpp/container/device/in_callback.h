// InCallback: this thread is inside an on_result callback.
//
// A device that is being closed waits for its callbacks, and what such a callback asks it meanwhile is
// answered: otherwise whoever closes would turn a harmless question into an error, some of the time.
#pragma once

namespace walle::container {

class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  static bool here();
};

}  // namespace walle::container
